package print

import (
	"vrametre/calc/models"
	"vrametre/calc/nn"
)

// known is a Hugging Face model found in the print.
type hugging struct {
	build    func(*nn.Builder) *models.Net
	complete bool
}

func (r *reader) huggingFace(root *module) *hugging { return nil }
