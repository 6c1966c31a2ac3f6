package protocol

// In asks for what there is in a place beside what there is everywhere.
type In struct {
	// Directory is an absolute path on the host; the files of its project count.
	Directory string `json:"directory,omitempty"`
}

// Skill is a text that tells an agent how to do something.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Directory is where its files are, absolute.
	Directory string `json:"directory"`
}

// SkillList lists the skills by name.
type SkillList struct {
	Skills []Skill `json:"skills"`
	// Warnings say which files are left out, and why.
	Warnings []string `json:"warnings,omitempty"`
}
