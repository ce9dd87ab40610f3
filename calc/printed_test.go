package calc

import (
	"os"
	"testing"
)

// printed networks are of the forms that many people write themselves; saved bytes and peaks at batch 2 were measured in
// PyTorch 1.13 with the measuring code of testdata/golden.
var printedNetworks = []struct {
	name                             string
	input                            []int64
	loss                             string
	params, saved, forward, backward int64
}{
	{"cifar_resnet18", []int64{3, 32, 32}, "", 11173962, 9414228, 54234584, 95673944},
	{"conv_ae", []int64{1, 28, 28}, "mse", 210369, 82048, 954884, 1782668},
	{"milesial_unet", []int64{3, 64, 64}, "", 31037698, 42907652, 169301144, 270083496},
	{"milesial_unet_bil", []int64{3, 64, 64}, "", 17263042, 40798724, 112081816, 159874472},
	{"mobilenet_head", []int64{3, 64, 64}, "", 2552579, 12858652, 23306172, 30551528},
	{"resnet9", []int64{3, 32, 32}, "", 38538, 2033236, 2213384, 2353888},
	{"resnet_children", []int64{3, 64, 64}, "", 11180103, 3565116, 48422468, 91833896},
	{"small_cnn", []int64{3, 32, 32}, "", 545290, 1091412, 3330712, 5555400},
	{"timm_vit", []int64{3, 64, 64}, "", 1932874, 1753668, 9583568, 15587512},
	{"tutorial_mlp", []int64{1, 28, 28}, "", 669706, 8276, 2697400, 5368120},
	{"tv_vit_custom", []int64{3, 64, 64}, "", 1650698, 5471524, 12305672, 13969608},
	{"wrapped_resnet", []int64{3, 64, 64}, "", 11209669, 3566252, 48541852, 92070408},
}

// TestPrintedNetworks: the forward that a print's classes and shapes prove is the true one, to the byte.
func TestPrintedNetworks(t *testing.T) {
	for _, c := range printedNetworks {
		text, err := os.ReadFile("testdata/printed/" + c.name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		foreach := false
		r, err := Estimate(Request{Model: Model{Torch: string(text)}, Input: Inputs{{Shape: c.input}}, Loss: c.loss, Batch: 2, PyTorch: "1.13", Attention: "math",
			Optimizer: Optimizer{Foreach: &foreach}})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if r.Parameters.Total != c.params || r.SavedForBackward != c.saved || r.First.Forward != c.forward || r.First.Backward != c.backward {
			t.Errorf("%s: %d parameters, saved %d, peaks %d and %d; measured %d, %d, %d and %d (%v)", c.name, r.Parameters.Total, r.SavedForBackward, r.First.Forward, r.First.Backward,
				c.params, c.saved, c.forward, c.backward, r.Warnings)
		}
	}
}
