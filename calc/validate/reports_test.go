package validate

import "testing"

// What people saw: the verdict is right in at least nine cases of ten.
func TestReports(t *testing.T) {
	list, err := Reports()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 20 {
		t.Fatalf("%d reports", len(list))
	}
	right, fits := 0, 0
	for _, r := range list {
		j, err := Judge(r)
		if err != nil {
			t.Error(err)
			continue
		}
		if r.Source == "" || r.What == "" {
			t.Errorf("%s: who saw what?", r.ID)
		}
		if r.Fits {
			fits++
		}
		if j.Right {
			right++
		} else {
			t.Logf("%s, %s: fits %v, the engine says %.2f GB of %.2f", r.ID, r.What, r.Fits, float64(j.Result.Peak.Device)/1e9, float64(j.Result.Budget.Total)/1e9)
		}
	}
	if 10*right < 9*len(list) {
		t.Errorf("%d of %d verdicts are right", right, len(list))
	}
	if fits < len(list)/4 || fits > 3*len(list)/4 {
		t.Errorf("%d of %d fit: one answer to all would do", fits, len(list))
	}
	t.Logf("%d of %d verdicts are right", right, len(list))
}
