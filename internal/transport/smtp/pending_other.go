//go:build !unix

package smtp

import "net"

// pending cannot tell here; what is pending is found out when the replies do
// not fit the commands.
func pending(net.Conn) bool { return false }
