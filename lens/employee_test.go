package lens_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/postledger/postledger/internal/testserver"
	"github.com/postledger/postledger/lens/catalogue"
)

// employeeTables are those of Firebird's sample database, as its script declares them
// but for what other databases lack: arrays, computed columns and checks. {at} is a
// wall clock's time, {single} a float of 32 bits, {manager} what ties two tables to
// each other where a table cannot be altered.
var employeeTables = []struct{ name, columns, key string }{
	{"country", `country varchar(15) NOT NULL PRIMARY KEY, currency varchar(10) NOT NULL`, "country"},
	{"job", `job_code varchar(5) NOT NULL, job_grade smallint NOT NULL, job_country varchar(15) NOT NULL, job_title varchar(25) NOT NULL,
		min_salary numeric(10,2) NOT NULL, max_salary numeric(10,2) NOT NULL, job_requirement text,
		PRIMARY KEY (job_code, job_grade, job_country), FOREIGN KEY (job_country) REFERENCES country (country)`, "job_code, job_grade, job_country"},
	{"department", `dept_no char(3) NOT NULL PRIMARY KEY, department varchar(25) NOT NULL UNIQUE, head_dept char(3), mngr_no smallint,
		budget decimal(12,2), location varchar(15), phone_no varchar(20) DEFAULT '555-1234',
		FOREIGN KEY (head_dept) REFERENCES department (dept_no){manager}`, "dept_no"},
	{"employee", `emp_no smallint NOT NULL PRIMARY KEY, first_name varchar(15) NOT NULL, last_name varchar(20) NOT NULL, phone_ext varchar(4),
		hire_date {at} NOT NULL, dept_no char(3) NOT NULL, job_code varchar(5) NOT NULL, job_grade smallint NOT NULL,
		job_country varchar(15) NOT NULL, salary numeric(10,2) NOT NULL, FOREIGN KEY (dept_no) REFERENCES department (dept_no),
		FOREIGN KEY (job_code, job_grade, job_country) REFERENCES job (job_code, job_grade, job_country)`, "emp_no"},
	{"project", `proj_id char(5) NOT NULL PRIMARY KEY, proj_name varchar(20) NOT NULL UNIQUE, proj_desc text, team_leader smallint,
		product varchar(12) DEFAULT 'software' NOT NULL, FOREIGN KEY (team_leader) REFERENCES employee (emp_no)`, "proj_id"},
	{"employee_project", `emp_no smallint NOT NULL, proj_id char(5) NOT NULL, PRIMARY KEY (emp_no, proj_id),
		FOREIGN KEY (emp_no) REFERENCES employee (emp_no), FOREIGN KEY (proj_id) REFERENCES project (proj_id)`, "emp_no, proj_id"},
	{"proj_dept_budget", `fiscal_year integer NOT NULL, proj_id char(5) NOT NULL, dept_no char(3) NOT NULL, projected_budget decimal(12,2),
		PRIMARY KEY (fiscal_year, proj_id, dept_no), FOREIGN KEY (dept_no) REFERENCES department (dept_no),
		FOREIGN KEY (proj_id) REFERENCES project (proj_id)`, "fiscal_year, proj_id, dept_no"},
	{"salary_history", `emp_no smallint NOT NULL, change_date {at} NOT NULL, updater_id varchar(20) NOT NULL, old_salary numeric(10,2) NOT NULL,
		percent_change double precision NOT NULL, PRIMARY KEY (emp_no, change_date, updater_id),
		FOREIGN KEY (emp_no) REFERENCES employee (emp_no)`, "emp_no, change_date, updater_id"},
	{"customer", `cust_no integer NOT NULL PRIMARY KEY, customer varchar(25) NOT NULL, contact_first varchar(15), contact_last varchar(20),
		phone_no varchar(20), address_line1 varchar(30), address_line2 varchar(30), city varchar(25), state_province varchar(15),
		country varchar(15), postal_code varchar(12), on_hold char(1), FOREIGN KEY (country) REFERENCES country (country)`, "cust_no"},
	{"sales", `po_number char(8) NOT NULL PRIMARY KEY, cust_no integer NOT NULL, sales_rep smallint, order_status varchar(7) NOT NULL,
		order_date {at} NOT NULL, ship_date {at}, date_needed {at}, paid char(1), qty_ordered integer NOT NULL, total_value decimal(9,2) NOT NULL,
		discount {single} NOT NULL, item_type varchar(12) NOT NULL, FOREIGN KEY (cust_no) REFERENCES customer (cust_no),
		FOREIGN KEY (sales_rep) REFERENCES employee (emp_no)`, "po_number"},
}

// employeeSizes are how many rows the script leaves in each table.
var employeeSizes = map[string]int{
	"country": 16, "job": 31, "department": 21, "employee": 42, "project": 6, "employee_project": 28, "proj_dept_budget": 24,
	"salary_history": 49, "customer": 15, "sales": 33,
}

const (
	employeeManager = "FOREIGN KEY (mngr_no) REFERENCES employee (emp_no)"
	employeeView    = `CREATE VIEW phone_list AS SELECT emp_no, first_name, last_name, phone_ext, location, phone_no
		FROM employee, department WHERE employee.dept_no = department.dept_no`
	// The script's own trigger, which fills salary_history.
	employeeRoutine = `CREATE FUNCTION save_salary_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF old.salary <> new.salary THEN INSERT INTO salary_history VALUES
			(old.emp_no, clock_timestamp(), 'loader', old.salary, (new.salary - old.salary) * 100 / old.salary); END IF;
		RETURN NULL; END $$`
	employeeTrigger = "CREATE TRIGGER save_salary_change AFTER UPDATE ON employee FOR EACH ROW EXECUTE FUNCTION save_salary_change()"
)

// employeeDatabases has the sample database in all three. PostgreSQL runs the script's
// statements as they are; the others get the rows that it then has.
func employeeDatabases(t *testing.T) []*database {
	t.Helper()
	all := databases(t)
	for _, d := range all {
		if d.dialect == catalogue.MySQL {
			d.db.SetMaxOpenConns(1)
		}
		for _, table := range employeeTables {
			d.exec(t, "CREATE TABLE "+table.name+" ("+employeeTypes(d.dialect).Replace(table.columns)+")")
		}
		if d.dialect == catalogue.PostgreSQL {
			loadEmployee(t, d)
		} else {
			copyEmployee(t, all[0].db, d)
		}
		if d.dialect != catalogue.SQLite {
			d.exec(t, "ALTER TABLE department ADD "+employeeManager)
		}
		d.exec(t, employeeView)
		for name, want := range employeeSizes {
			var n int
			if err := d.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+name).Scan(&n); err != nil || n != want {
				t.Fatalf("%s: %s has %d rows (%v), want %d", d.dialect, name, n, err, want)
			}
		}
	}
	return all
}

func employeeTypes(d catalogue.Dialect) *strings.Replacer {
	switch d {
	case catalogue.MySQL:
		return strings.NewReplacer("{at}", "datetime", "{single}", "float", "{manager}", "")
	case catalogue.SQLite:
		return strings.NewReplacer("{at}", "DATETIME", "{single}", "REAL", "{manager}", ", "+employeeManager)
	}
	return strings.NewReplacer("{at}", "timestamp", "{single}", "real", "{manager}", "")
}

func loadEmployee(t *testing.T, d *database) {
	t.Helper()
	d.db.SetMaxOpenConns(1) // what is set holds for one session
	d.exec(t, "SET datestyle = 'ISO, MDY'")
	d.exec(t, employeeRoutine)
	d.exec(t, employeeTrigger)
	for _, statement := range scriptRows(testserver.EmployeeScript(t)) {
		d.exec(t, statement)
	}
}

var (
	scriptComments = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`)
	scriptRoutines = regexp.MustCompile(`(?s)SET TERM !! ;.*?SET TERM ; !!`)
	scriptParts    = regexp.MustCompile(`(?:'[^']*'|[^';])+`)
)

// scriptRows are the statements of a script for isql that write rows. No text in it
// looks like a comment.
func scriptRows(script string) []string {
	script = scriptRoutines.ReplaceAllString(scriptComments.ReplaceAllString(script, ""), "")
	var rows []string
	for _, statement := range scriptParts.FindAllString(script, -1) {
		statement = strings.TrimSpace(statement)
		if strings.HasPrefix(statement, "INSERT INTO") || strings.HasPrefix(statement, "UPDATE ") {
			rows = append(rows, statement)
		}
	}
	return rows
}

// copyEmployee writes one database's rows into another, as text that each type reads.
func copyEmployee(t *testing.T, from *sql.DB, to *database) {
	t.Helper()
	for _, table := range employeeTables {
		rows, err := from.QueryContext(t.Context(), "SELECT * FROM "+table.name+" ORDER BY "+table.key)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		insert := fmt.Sprintf("INSERT INTO %s VALUES (?%s)", table.name, strings.Repeat(", ?", len(columns)-1))
		for _, row := range textRows(t, rows) {
			args := make([]any, len(row))
			for i, cell := range row {
				if args[i] = cell; cell == "" {
					args[i] = nil // the sample has no empty text
				}
			}
			to.exec(t, insert, args...)
		}
	}
}
