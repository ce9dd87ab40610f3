package calc

import "testing"

// What autograd keeps, storage by storage, sums to saved_for_backward; no storage is listed twice.
func TestSavedSums(t *testing.T) {
	for _, r := range []Request{
		{},
		{Batch: 3, Precision: "amp-bf16"},
		{Model: Model{Preset: "resnet50"}, Batch: 2},
		{Model: Model{Preset: "vit_b_16"}, Batch: 2, Checkpointing: Checkpointing{EveryBlock: true}},
		{Model: Model{Preset: "densenet121"}, Batch: 2},
	} {
		r.Want = []string{WantLayers}
		res, err := Estimate(r)
		if err != nil {
			t.Fatal(err)
		}
		var kept, rows int64
		for _, s := range res.Saved {
			kept += s.Bytes
			if s.Bytes <= 0 || s.Type == "" || s.DType == "" {
				t.Errorf("%+v: %+v", r.Model, s)
			}
		}
		for _, row := range res.Layers {
			rows += row.Saved
		}
		if kept != res.SavedForBackward || rows != kept || len(res.Saved) == 0 {
			t.Errorf("%+v: %d kept, %d in the rows, %d saved for backward", r.Model, kept, rows, res.SavedForBackward)
		}
	}
}

// The lesson's network: ReLU keeps its result, MaxPool its indices, a convolution what it reads.
func TestSavedByTheLesson(t *testing.T) {
	res, err := Estimate(Request{Batch: 1, Want: []string{WantLayers}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Saved{
		{By: "1", Type: "ReLU", Own: true, Shape: []int64{1, 32, 128, 128}, DType: "float32", Bytes: 2097152},
		{By: "2", Type: "MaxPool2d", Own: true, Shape: []int64{1, 32, 64, 64}, DType: "int64", Bytes: 1048576},
		{By: "3", Type: "Conv2d", Shape: []int64{1, 32, 64, 64}, DType: "float32", Bytes: 524288},
	} {
		got := res.Saved[i]
		if got.By != want.By || got.Type != want.Type || got.Own != want.Own || got.DType != want.DType || got.Bytes != want.Bytes || len(got.Shape) != 4 || got.Shape[1] != want.Shape[1] || got.Shape[2] != want.Shape[2] {
			t.Errorf("%d: %+v, want %+v", i, got, want)
		}
	}
}
