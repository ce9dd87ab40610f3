package view

import "vrametre/calc"

// Scene is everything one state makes the page say: three answers of calc.
// Whatever the page shows is a field of one of them, or a plain quotient or
// sum of such fields.
type Scene struct {
	State State
	// Now answers the state's own question.
	Now calc.Result
	// Times8 answers it for a batch eight times as large.
	Times8 calc.Result
	// Infer answers it for inference.
	Infer calc.Result
}

// BatchFactor is the lesson's step from 32 to 256 images.
const BatchFactor = 8
