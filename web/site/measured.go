package site

import (
	"html/template"
	"path"

	"vrametre/content"
	"vrametre/content/lesson"
	"vrametre/web/validation"
)

// measured gives the figures and the parts of the page of measurements.
func (b *builder) measured(p page) (fact func(string) (string, bool), drawn func(part, text string) (template.HTML, error)) {
	measurements := validation.New(b.study, p.Lang, relative(p.Path, studyFolder+"/"))
	return measurements.Fact, func(part, text string) (template.HTML, error) {
		block, err := validation.ParseBlock(text)
		if err != nil {
			return "", err
		}
		out, err := measurements.HTML(part, block)
		return template.HTML(out), err
	}
}

// studyFolder holds the tables as data, for both languages.
var studyFolder = path.Dir(pathOf(lesson.Validation, content.French))

func (b *builder) writeStudy() error {
	for _, file := range validation.Files {
		data, err := file.Write(b.study)
		if err != nil {
			return err
		}
		if err := b.write(path.Join(studyFolder, file.Name), data); err != nil {
			return err
		}
	}
	return nil
}
