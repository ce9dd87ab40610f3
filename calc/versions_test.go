package calc

import (
	"encoding/csv"
	"os"
	"strconv"
	"strings"
	"testing"

	"vrametre/calc/validate/exacttest"
)

// TestSavedNewRules compares what convolutional networks keep for backward with PyTorch 2.6.0 itself (CPU, batch 2,
// ten classes, float32, native_dropout): distinct storages seen by torch.autograd.graph.saved_tensors_hooks without
// parameters, buffers, input and target. Since 2.2 mean(dim) keeps nothing, since 2.1 F.linear fuses its bias at any rank.
func TestSavedNewRules(t *testing.T) {
	f, err := os.Open("testdata/saved_2.6.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var count exacttest.Count
	for _, r := range rows[1:] {
		var shape []int64
		for _, d := range strings.Split(r[1], "x") {
			n, err := strconv.ParseInt(d, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			shape = append(shape, n)
		}
		res, err := Estimate(Request{Model: Model{Preset: r[0]}, NumClasses: 10, Batch: 2, Input: []Input{{Shape: shape}}, PyTorch: "2.6"})
		if err != nil {
			t.Fatal(err)
		}
		want, err := strconv.ParseInt(r[2], 10, 64)
		count.Add(err == nil && res.SavedForBackward == want)
		if err != nil || res.SavedForBackward != want {
			t.Errorf("%s %s: saved %d, PyTorch 2.6 keeps %s", r[0], r[1], res.SavedForBackward, r[2])
		}
	}
	exacttest.Hold(t, exactFile, map[string]exacttest.Count{"new-rules": count})
}
