//go:build !linux

package natstest

import "os/exec"

func dieWithParent(*exec.Cmd) {}

func spawn(command *exec.Cmd) error {
	return command.Start()
}
