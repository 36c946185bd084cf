package lens_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/postledger/postledger/lens"
	"github.com/postledger/postledger/lens/catalogue"
)

const employeeModel = `
tables:
  department:
    relations:
      head_dept_department: {rename: head}
      department_head_dept_department: {rename: parts}
      mngr_no_employee: {rename: manager}
  employee:
    relations:
      dept_no_department: {rename: works_in}
      projects: {to: project, through: {table: employee_project, on: {emp_no: emp_no}, to: {proj_id: proj_id}}}
  project:
    relations:
      team_leader_employee: {rename: leader}
      members: {to: employee, through: {table: employee_project, on: {proj_id: proj_id}, to: {emp_no: emp_no}}}
  salary_history: {relations: {emp_no_employee: {rename: who}}}
  sales: {relations: {sales_rep_employee: {rename: rep}}}
  phone_list: {key: [emp_no]}
`

// SQLite's DATETIME is an instant unless the model says otherwise.
const employeeClocks = `
  employee: {columns: {hire_date: {kind: timestamp}}}
  salary_history: {columns: {change_date: {kind: timestamp}}}
  sales: {columns: {order_date: {kind: timestamp}, ship_date: {kind: timestamp}, date_needed: {kind: timestamp}}}`

// question is a lens and the same question as somebody would write it in SQL, who knew
// nothing of lenses. columns are the paths of what the SQL selects. In the SQL, {bytes}
// is the collation that compares bytes.
type question struct {
	lens, columns, sql string
	rows               int
}

var employeeQuestions = map[string]question{
	"hired before 1990": {
		`{from: employee, where: {hire_date: {lt: "1990-01-01T00:00:00"}}, select: [emp_no, last_name, hire_date], order: [hire_date, -last_name]}`,
		"emp_no last_name hire_date",
		`SELECT emp_no, last_name, hire_date FROM employee WHERE hire_date < '1990-01-01' ORDER BY hire_date, last_name{bytes} DESC`, 5,
	},
	"without an extension": {
		`{from: employee, where: {phone_ext: {isNull: true}}, select: [emp_no, last_name]}`, "emp_no last_name",
		`SELECT emp_no, last_name FROM employee WHERE phone_ext IS NULL ORDER BY emp_no`, 3,
	},
	"any extension but one, or none": {
		`{from: employee, where: {phone_ext: {ne: "250"}}, select: [emp_no, phone_ext]}`, "emp_no phone_ext",
		`SELECT emp_no, phone_ext FROM employee WHERE phone_ext <> '250' OR phone_ext IS NULL ORDER BY emp_no`, 41,
	},
	"abroad, on hold or without a state": {
		`{from: customer, where: {all: [{not: {country: {eq: USA}}}, {any: [{on_hold: {eq: "*"}}, {state_province: {isNull: true}}]}]}, select: [cust_no, customer, on_hold]}`,
		"cust_no customer on_hold",
		`SELECT cust_no, customer, on_hold FROM customer WHERE COALESCE(country, '') <> 'USA' AND (on_hold = '*' OR state_province IS NULL) ORDER BY cust_no`, 9,
	},
	"a word in any case": {
		`{from: customer, where: {customer: {contains: CORP, ignoreCase: true}}, select: [customer], order: [-customer]}`, "customer",
		`SELECT customer FROM customer WHERE LOWER(customer) LIKE '%corp%' ORDER BY customer{bytes} DESC`, 3,
	},
	"post boxes, but not the one with a zero": {
		`{from: customer, where: {any: [{address_line1: {startsWith: "P.O."}}, {address_line1: {startsWith: "P. O."}}]}, select: [cust_no, address_line1]}`,
		"cust_no address_line1",
		`SELECT cust_no, address_line1 FROM customer WHERE SUBSTR(address_line1, 1, 4) = 'P.O.' OR SUBSTR(address_line1, 1, 5) = 'P. O.' ORDER BY cust_no`, 2,
	},
	"right under Engineering": {
		`{from: department, where: {head: {is: {department: {eq: Engineering}}}}, select: [department, {head: [location]}], order: [department]}`,
		"department head.location",
		`SELECT d.department, h.location FROM department d JOIN department h ON h.dept_no = d.head_dept WHERE h.department = 'Engineering' ORDER BY d.department{bytes}`, 2,
	},
	"nobody leads it": {
		`{from: department, where: {manager: {isNot: {everyone: true}}}, select: [dept_no, department, {manager: [last_name]}]}`, "dept_no department manager.last_name",
		`SELECT dept_no, department, NULL FROM department WHERE mngr_no IS NULL ORDER BY dept_no`, 4,
	},
	"all of its parts are rich": {
		`{from: department, where: {all: [{parts: {some: {everyone: true}}}, {parts: {every: {budget: {gte: 400000}}}}]}, select: [dept_no, budget]}`, "dept_no budget",
		`SELECT h.dept_no, h.budget FROM department h JOIN department p ON p.head_dept = h.dept_no GROUP BY h.dept_no, h.budget HAVING MIN(p.budget) >= 400000 ORDER BY h.dept_no`, 5,
	},
	"two levels down somebody sells": {
		`{from: department, where: {parts: {some: {parts: {some: {employee: {some: {job_code: {eq: SRep}}}}}}}}, select: [department, {parts: {select: [department], order: [department]}}], order: [department]}`,
		"department parts.department",
		`SELECT d.department, p.department FROM department d JOIN department p ON p.head_dept = d.dept_no WHERE d.dept_no IN (
			SELECT one.head_dept FROM employee e JOIN department two ON two.dept_no = e.dept_no JOIN department one ON one.dept_no = two.head_dept WHERE e.job_code = 'SRep')
			ORDER BY d.department{bytes}, p.department{bytes}`, 2,
	},
	"sold, and all of it was shipped": {
		`{from: employee, where: {all: [{sales: {some: {everyone: true}}}, {sales: {every: {order_status: {eq: shipped}}}}]}, select: [emp_no, last_name]}`, "emp_no last_name",
		`SELECT e.emp_no, e.last_name FROM employee e JOIN sales s ON s.sales_rep = e.emp_no GROUP BY e.emp_no, e.last_name
			HAVING SUM(CASE WHEN s.order_status = 'shipped' THEN 0 ELSE 1 END) = 0 ORDER BY e.emp_no`, 1,
	},
	"sells, and nothing is unpaid": {
		`{from: employee, where: {all: [{job_code: {in: [SRep, Eng]}}, {sales: {none: {paid: {ne: y}}}}, {hire_date: {gte: "1993-06-01T00:00:00"}}]}, select: [emp_no]}`, "emp_no",
		`SELECT emp_no FROM employee WHERE job_code IN ('SRep', 'Eng') AND hire_date >= '1993-06-01' AND emp_no NOT IN (
			SELECT sales_rep FROM sales WHERE sales_rep IS NOT NULL AND (paid = 'n' OR paid IS NULL)) ORDER BY emp_no`, 6,
	},
	"ordered in the last 90 days, as California counts": {
		`{from: sales, where: {order_date: {gte: now-90d}}, select: [po_number, order_date, ship_date], order: [-order_date], zone: America/Los_Angeles}`,
		"po_number order_date ship_date",
		`SELECT po_number, order_date, ship_date FROM sales WHERE order_date >= '1993-11-22 04:00:00' ORDER BY order_date DESC, po_number`, 13,
	},
	"in the two months before this one": {
		`{from: sales, where: {order_date: {gte: now-2mo/mo, lt: now/mo}, qty_ordered: {gt: 1}}, select: [po_number, qty_ordered], zone: America/Los_Angeles}`,
		"po_number qty_ordered",
		`SELECT po_number, qty_ordered FROM sales WHERE order_date BETWEEN '1993-12-01' AND '1994-01-31 23:59:59' AND qty_ordered > 1 ORDER BY po_number`, 9,
	},
	"each project's last three members": {
		`{from: project, where: {everyone: true}, select: [proj_id, {leader: [last_name]}, {members: {select: [last_name], order: [-last_name], limit: 3}}]}`,
		"proj_id leader.last_name members.last_name",
		`SELECT p.proj_id, l.last_name, m.last_name FROM project p LEFT JOIN employee l ON l.emp_no = p.team_leader LEFT JOIN (
			SELECT x.proj_id, e.last_name, ROW_NUMBER() OVER (PARTITION BY x.proj_id ORDER BY e.last_name{bytes} DESC) AS n
			FROM employee_project x JOIN employee e ON e.emp_no = x.emp_no) m ON m.proj_id = p.proj_id AND m.n <= 3 ORDER BY p.proj_id, m.n`, 6,
	},
	"on software, and on nothing without a product": {
		`{from: employee, where: {all: [{projects: {some: {product: {eq: software}}}}, {projects: {none: {product: {eq: "N/A"}}}}]}, select: [emp_no, last_name]}`, "emp_no last_name",
		`SELECT emp_no, last_name FROM employee WHERE emp_no IN (SELECT emp_no FROM employee_project x JOIN project p ON p.proj_id = x.proj_id WHERE product = 'software')
			AND emp_no NOT IN (SELECT emp_no FROM employee_project x JOIN project p ON p.proj_id = x.proj_id WHERE product = 'N/A') ORDER BY emp_no`, 9,
	},
	"jobs that nobody has": {
		`{from: job, where: {employee: {none: {everyone: true}}}, select: [job_code, job_grade, job_country, max_salary], order: [-max_salary]}`, "job_code job_grade job_country max_salary",
		`SELECT j.job_code, j.job_grade, j.job_country, j.max_salary FROM job j LEFT JOIN employee e ON e.job_code = j.job_code AND e.job_grade = j.job_grade AND e.job_country = j.job_country
			WHERE e.emp_no IS NULL ORDER BY j.max_salary DESC, j.job_code, j.job_grade, j.job_country`, 4,
	},
	"large raises": {
		`{from: salary_history, where: {percent_change: {gt: 7.5}, updater_id: {in: [admin2, elaine]}}, select: [change_date, {who: [last_name]}, old_salary]}`,
		"who.last_name change_date old_salary",
		`SELECT last_name, change_date, old_salary FROM salary_history h JOIN employee e ON e.emp_no = h.emp_no WHERE percent_change > 7.5 AND updater_id IN ('admin2', 'elaine')
			ORDER BY h.emp_no, change_date`, 11,
	},
	"a discount of a tenth on what is neither small nor large": {
		`{from: sales, where: {total_value: {between: ["5000", "399960.50"]}, discount: {eq: 0.1}}, select: [po_number, total_value]}`, "po_number total_value",
		`SELECT po_number, total_value FROM sales WHERE total_value >= 5000 AND total_value <= 399960.5 AND ROUND(discount * 1000) = 100 ORDER BY po_number`, 4,
	},
	"by state downwards, those without one last": {
		`{from: customer, where: {everyone: true}, select: [state_province, cust_no], order: [-state_province, customer]}`, "state_province cust_no",
		`SELECT state_province, cust_no FROM customer ORDER BY CASE WHEN state_province IS NULL THEN 1 ELSE 0 END, state_province{bytes} DESC, customer{bytes}`, 15,
	},
	"countries that wait, with all of their customers": {
		`{from: country, where: {customer: {some: {sales: {some: {order_status: {in: [open, waiting]}}}}}}, order: [country],
			select: [country, {customer: {select: [customer, {sales: {select: [po_number], where: {order_status: {in: [open, waiting]}}, order: [-po_number]}}], order: [customer]}}]}`,
		"country customer.customer customer.sales.po_number",
		`SELECT c.country, k.customer, s.po_number FROM country c JOIN customer k ON k.country = c.country LEFT JOIN sales s ON s.cust_no = k.cust_no AND s.order_status IN ('open', 'waiting')
			WHERE c.country IN (SELECT w.country FROM customer w JOIN sales x ON x.cust_no = w.cust_no WHERE x.order_status IN ('open', 'waiting'))
			ORDER BY c.country{bytes}, k.customer{bytes}, s.po_number{bytes} DESC`, 5,
	},
	"a view": {
		`{from: phone_list, where: {location: {endsWith: ", VT"}}, select: [last_name, phone_no], order: [last_name]}`, "last_name phone_no",
		`SELECT last_name, phone_no FROM phone_list WHERE location LIKE '%, VT' ORDER BY last_name{bytes}`, 7,
	},
	"values that are bound later": {
		`{from: sales, where: {item_type: {in: {param: types}}, rep: {is: {last_name: {eq: {param: rep}}}}}, select: [po_number], params: {types: {kind: text, list: true}, rep: {kind: text}}}`,
		"po_number",
		`SELECT po_number FROM sales, employee WHERE emp_no = sales_rep AND last_name = 'Weston' AND (item_type = 'hardware' OR item_type = 'other') ORDER BY po_number`, 3,
	},
	"numbers of fixed length": {
		`{from: sales, where: {po_number: {startsWith: V93, endsWith: "0"}, date_needed: {isNull: false}}, select: [po_number]}`, "po_number",
		`SELECT po_number FROM sales WHERE po_number LIKE 'V93%0' AND date_needed IS NOT NULL ORDER BY po_number`, 11,
	},
	"who has a job of three columns": {
		`{from: job, where: {job_title: {startsWith: Sales}, employee: {some: {salary: {gt: "60000.00"}}}}, select: [job_country, {employee: {select: [last_name, salary], order: [-salary]}}]}`,
		"job_country employee.last_name employee.salary",
		`SELECT j.job_country, e.last_name, e.salary FROM job j JOIN employee e ON e.job_code = j.job_code AND e.job_grade = j.job_grade AND e.job_country = j.job_country
			WHERE j.job_title LIKE 'Sales%' AND EXISTS (SELECT 1 FROM employee x WHERE x.job_code = j.job_code AND x.job_grade = j.job_grade AND x.job_country = j.job_country AND x.salary > 60000)
			ORDER BY j.job_code, j.job_grade, j.job_country, e.salary DESC`, 5,
	},
	"a floor that hides who works abroad": {
		`{from: department, where: {employee: {some: {everyone: true}}}, select: [dept_no, {employee: {select: [last_name], order: [last_name]}}]}`,
		"dept_no employee.last_name",
		`SELECT d.dept_no, e.last_name FROM department d JOIN employee e ON e.dept_no = d.dept_no WHERE e.job_country = 'USA' ORDER BY d.dept_no, e.last_name{bytes}`, 13,
	},
}

// A sample database that nobody here wrote: what a lens reads is what hand-written SQL
// reads, row by row, in every database and in pages of any size.
func TestSampleDatabase(t *testing.T) {
	for _, d := range employeeDatabases(t) {
		t.Run(string(d.dialect), func(t *testing.T) {
			text := employeeModel
			m := parseModel(t, text)
			if d.dialect == catalogue.SQLite {
				for name, said := range parseModel(t, "tables:"+employeeClocks).Tables {
					table := m.Tables[name]
					table.Columns = said.Columns
					m.Tables[name] = table
				}
			}
			shop := shopDatabase{d, d.open(t, m)}
			for name, q := range employeeQuestions {
				t.Run(name, func(t *testing.T) { shop.answers(t, name, q) })
			}
		})
	}
}

func parseModel(t *testing.T, text string) catalogue.Model {
	t.Helper()
	m, err := catalogue.ParseModel([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// answers compares a lens with its SQL.
func (s shopDatabase) answers(t *testing.T, name string, want question) {
	collation := map[catalogue.Dialect]string{catalogue.PostgreSQL: ` COLLATE "C"`, catalogue.MySQL: " COLLATE utf8mb4_bin", catalogue.SQLite: ""}[s.dialect]
	rows, err := s.db.QueryContext(t.Context(), strings.ReplaceAll(want.sql, "{bytes}", collation))
	if err != nil {
		t.Fatal(err)
	}
	expected := textRows(t, rows)
	q := s.employeeQuery(t, name, want.lens)
	paths := strings.Fields(want.columns)
	for _, size := range []int{2, 500} {
		var got [][]string
		roots := 0
		for after, more := lens.Cursor(""), true; more; {
			p, err := q.Page(t.Context(), s.source, after, size)
			if err != nil {
				t.Fatal(err)
			}
			roots += len(p.Rows)
			for _, row := range p.Rows {
				got = append(got, flat(row, paths)...)
			}
			after, more = p.Next, p.Next != ""
		}
		if !slices.EqualFunc(got, expected, slices.Equal) {
			t.Errorf("in pages of %d:\n%v\nthe SQL gives\n%v", size, got, expected)
		}
		if n, err := q.Count(t.Context(), s.source); err != nil || int(n) != want.rows || roots != want.rows {
			t.Errorf("counts %d (%v), reads %d, want %d", n, err, roots, want.rows)
		}
	}
}

// employeeQuery binds what single questions need: parameters, a floor, and a day on
// which the company was in business.
func (s shopDatabase) employeeQuery(t *testing.T, name, text string) *lens.Query {
	t.Helper()
	l, err := lens.ParseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var scope lens.Scope
	with := lens.Bindings{Now: time.Date(1994, 2, 20, 12, 0, 0, 0, time.UTC)}
	switch name {
	case "a floor that hides who works abroad":
		scope.Where = map[string]lens.Condition{"employee": lens.Of("job_country").Eq("USA")}
	case "values that are bound later":
		with.Params = map[string]any{"types": []string{"hardware", "other"}, "rep": "Weston"}
	}
	plan, err := l.Check(s.catalogue, scope)
	if err != nil {
		t.Fatal(err)
	}
	q, err := plan.Bind(with)
	if err != nil {
		t.Fatal(err)
	}
	return q
}
