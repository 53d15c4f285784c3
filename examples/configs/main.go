// Configs lists the servers of all programs on this machine, with the file that each
// stands in. It starts none.
//
//	go run ./examples/configs
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpbelt/mcpbelt/host/config"
)

func main() {
	places := config.Find(&config.FindOptions{Project: "."})
	configs, err := config.LoadAll(context.Background(), places, nil)
	if err != nil {
		log.Print(err) // files that cannot be read: the others are there
	}
	all := config.Merge(configs...)
	for _, s := range all.Servers {
		fmt.Println(s.Source, s)
		if s.Err != nil {
			fmt.Println("\tcannot be used:", s.Err)
		}
	}
	for _, hidden := range all.Shadowed {
		fmt.Println(hidden)
	}
}
