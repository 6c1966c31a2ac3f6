package fsys

// OnStep has look called before every stage of every change of a commit.
func (w *Writer) OnStep(look func(stage string, change int)) { w.look = look }

// TemporaryPrefix begins the names of files half written.
const TemporaryPrefix = temporaryPrefix
