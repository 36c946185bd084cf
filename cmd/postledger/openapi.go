package main

import "github.com/postledger/postledger/internal/api"

type openapiCmd struct{}

func (c *openapiCmd) Run(e *env) error {
	document, err := api.OpenAPI()
	if err != nil {
		return err
	}
	_, err = e.stdout.Write(document)
	return err
}
