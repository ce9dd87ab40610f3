package view

import "testing"

// BenchmarkFollow is what the engine does for one move of a slider.
func BenchmarkFollow(b *testing.B) {
	resnet := Start(PageWorkshop)
	resnet.Setup.Model = "resnet50"
	for name, state := range map[string]State{"lesson": Default(), "resnet50": resnet} {
		b.Run(name, func(b *testing.B) {
			scene, err := Compute(state)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				state = state.With(ScrubBatch, state.Batch%900+1)
				if scene, err = scene.Follow(state); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
