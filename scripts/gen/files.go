package main

import (
	"bytes"
	"encoding/json"
	"os"

	"growthworkspace/functions"
	"growthworkspace/infra"
	"growthworkspace/scripts/gen/openapi"
	"growthworkspace/shared/api"
	"growthworkspace/shared/mcpserver"
)

// generatedFiles returns every generated file, sorted by path. The same declarations always give
// the same bytes.
func generatedFiles() ([]generatedFile, error) {
	document, err := openapiDocument()
	if err != nil {
		return nil, err
	}
	operations, err := operationsTable()
	if err != nil {
		return nil, err
	}
	company, err := withExamples(companyFile)
	if err != nil {
		return nil, err
	}
	demo, err := withExamples(demoFile)
	if err != nil {
		return nil, err
	}
	settings, err := settingsOf(infra.New().Parameters)
	if err != nil {
		return nil, err
	}
	kinds := api.NewKinds(functions.Operations(nil))
	catalogue, err := indentJSON(describeKinds(kinds))
	if err != nil {
		return nil, err
	}
	out := []generatedFile{
		company, demo, {scopesFile, changeScopes(kinds)}, {catalogueFile, catalogue},
		{settingsFile, settings}, {"functions/openapi/openapi.json", document},
		{operationsPage, operations}, {"template.yaml", infra.New().Text()},
	}
	events, err := infra.New().Events(document)
	if err != nil {
		return nil, err
	}
	for id, text := range events {
		out = append(out, generatedFile{"events/" + id + ".json", text})
	}
	for _, tool := range mcpserver.Tools(functions.Operations(nil)) {
		text, err := indentJSON(tool)
		if err != nil {
			return nil, err
		}
		out = append(out, generatedFile{toolsFolder + tool.Name + ".json", text})
	}
	client, err := clientFiles()
	if err != nil {
		return nil, err
	}
	skills, err := skillFiles()
	if err != nil {
		return nil, err
	}
	llms, err := guide()
	if err != nil {
		return nil, err
	}
	out = append(append(out, generatedFile{guideFile, llms}), skills...)
	return addRemovals(append(out, client...), skillsFolder+"*/SKILL.md", "events/*.json", toolsFolder+"*.json", clientFolder+"records_*.go", clientFolder+"operations_*.go")
}

// toolsFolder contains a snapshot of each MCP tool, so that a code review shows what agents see.
const toolsFolder = "functions/mcp/testdata/tools/"

func openapiDocument() ([]byte, error) {
	text, err := os.ReadFile("functions/openapi/source.json")
	if err != nil {
		return nil, err
	}
	source, err := openapi.ParseSource(text)
	if err != nil {
		return nil, err
	}
	return openapi.Build(functions.Operations(nil), source)
}

func indentJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false) // unescaped HTML is easier to read in a review
	e.SetIndent("", "  ")
	err := e.Encode(v)
	return out.Bytes(), err
}
