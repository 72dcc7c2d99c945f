// The etcd server, built from its module: there is no `go install` of it, because its go.mod has replacements.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
