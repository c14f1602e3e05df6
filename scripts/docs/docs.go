// Package docs embeds the pages of the documentation, so that a deployed service can serve them to
// users who have no clone of the repository.
package docs

import "embed"

// Pages contains every page by its path in this folder.
//
//go:embed *.md explanation/*.md how-to/*.md reference/*.md skills/*/SKILL.md
var Pages embed.FS

// SkillsFolder is the folder of the agent skills in Pages. It has a folder with a SKILL.md for each
// skill.
const SkillsFolder = "skills"
