// Package docs embeds the pages of the documentation, so that a deployed service can serve them to
// its users, who have no clone of the repository.
package docs

import "embed"

// Pages has every page, with its path in this folder.
//
//go:embed *.md explanation/*.md how-to/*.md reference/*.md skills/*/SKILL.md
var Pages embed.FS

// SkillsFolder is the folder of the agent skills in Pages: a folder for each skill, with SKILL.md.
const SkillsFolder = "skills"
