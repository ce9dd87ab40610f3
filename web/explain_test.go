package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const pasted = "RuntimeError: CUDA out of memory. Tried to allocate 384.00 MiB (GPU 0; 15.90 GiB total capacity; 14.75 GiB already allocated; 225.81 MiB free; 14.81 GiB reserved in total by PyTorch)"

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		args    []string
		verdict string
	}{
		{[]string{"explain"}, "La carte est pleine de vos propres tenseurs."},
		{[]string{"explain", "-lang", "en"}, "The card is full of your own tensors."},
	} {
		status, stdout, stderr := shell(pasted, c.args...)
		if status != 0 || stderr != "" {
			t.Fatalf("%v: status %d, stderr %q", c.args, status, stderr)
		}
		var e struct {
			Framework, Device, Kind, Verdict string
			Requested, Total                 int64
			Ranges                           [][2]int64 `json:"request_ranges"`
			Candidates                       []struct{ Tensor, Why string }
			Advice                           []string
		}
		if err := json.Unmarshal([]byte(stdout), &e); err != nil {
			t.Fatal(err)
		}
		if e.Framework != "pytorch" || e.Device != "cuda" || e.Kind != "gpu-out-of-memory" || e.Requested != 384<<20 || len(e.Ranges) != 1 || !strings.HasPrefix(e.Verdict, c.verdict) {
			t.Errorf("%+v", e)
		}
		if len(e.Candidates) == 0 || len(e.Advice) == 0 || e.Candidates[0].Why == "" {
			t.Errorf("%+v", e)
		}
		if strings.Contains(stdout, `"process"`) {
			t.Error("a number that the message does not give is there")
		}
	}
	wide := "\xff\xfe"
	for _, c := range []byte(pasted) {
		wide += string([]byte{c, 0})
	}
	_, bytes, _ := shell(pasted, "explain")
	if _, stdout, _ := shell(wide, "explain"); stdout != bytes {
		t.Errorf("UTF-16: %s", stdout)
	}
	if status, stdout, _ := shell("", "explain"); status != 0 || !strings.Contains(stdout, `"unrecognised"`) {
		t.Errorf("nothing: status %d, %q", status, stdout)
	}
	for _, args := range [][]string{{"explain", "-nonsense"}, {"explain", "-lang", "de"}} {
		if status, _, stderr := shell("", args...); status != 2 || !strings.HasPrefix(stderr, "usage: web explain") {
			t.Errorf("%v: status %d, %q", args, status, stderr)
		}
	}
}

func TestGPU(t *testing.T) {
	for _, c := range []struct {
		text, kind, id string
		sizes          []int64
	}{
		{"ANGLE (NVIDIA, NVIDIA GeForce RTX 3080 (0x0000220A) Direct3D11 vs_5_0 ps_5_0, D3D11)", "card", "rtx-3080-12gb", []int64{12}},
		{"10de:2805", "card", "rtx-4060-ti-16gb", []int64{16}},
		{"Apple GPU", "vendor", "", nil},
		{"nonsense", "unknown", "", nil},
	} {
		status, stdout, _ := shell("", "gpu", c.text)
		var m struct {
			Kind  string
			Cards []struct{ ID string }
			Sizes []int64 `json:"sizes_gib"`
		}
		if err := json.Unmarshal([]byte(stdout), &m); err != nil || status != 0 {
			t.Fatalf("%s: status %d, %v", c.text, status, err)
		}
		if m.Kind != c.kind || (c.id == "") != (len(m.Cards) == 0) || c.id != "" && m.Cards[0].ID != c.id || len(m.Sizes) != len(c.sizes) {
			t.Errorf("%s: %+v", c.text, m)
		}
	}
	if status, _, _ := shell("", "gpu"); status != 2 {
		t.Errorf("status %d", status)
	}
}
