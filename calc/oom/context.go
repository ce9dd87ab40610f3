package oom

import "strings"

// Context is what the text around a message hints at: which kinds of tensor
// its program was working with, and whether it had run for a while.
type Context struct {
	Attention, Logits, Convolution, Linear, Optimizer, Weights bool
	// Ran says that progress was printed before: the program failed later than at its start.
	Ran bool
}

// contextBefore and contextAfter are how far around the message hints are read.
const (
	contextBefore = 6000
	contextAfter  = 1000
)

func (q *squeezed) context(start, end int) (c Context) {
	before := q.s[max(0, start-contextBefore):start]
	s := before + " " + q.s[end:min(len(q.s), end+contextAfter)]
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(s, w) {
				return true
			}
		}
		return false
	}
	c.Attention = has("attention", "attn", "softmax(", "query_layer", "key_layer", "scaled_dot_product", "bert", "gpt")
	c.Logits = has("cross_entropy", "crossentropy", "lm_head", "logits", "log_softmax", "decoder.weight")
	c.Convolution = has("conv2d", "conv3d", "conv1d", "_conv_forward", "batch_norm", "batchnorm", "max_pool", "instance_norm", "unet", "resnet")
	c.Linear = has("f.linear(", "addmm", "mlp", "feed_forward", "intermediate")
	c.Optimizer = has("optimizer.step", "exp_avg", "_foreach", "_single_tensor_adam", "_multi_tensor_adam", "zeros_like(p")
	c.Weights = has(".to(device)", ".cuda()", "model.to(", "from_pretrained", "load_state_dict", "param_applied", "torch.load")
	c.Ran = ran(before)
	return c
}

// ran looks for a progress bar or a step counter that has left its start:
// "37%|", "12/400[", "epoch 3", "step 250".
func ran(s string) bool {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '%':
			if at(s, i+1) == '|' && positiveBefore(s, i, 0) {
				return true
			}
		case '/':
			if isDigit(at(s, i+1)) {
				j := i + 1
				for isDigit(at(s, j)) {
					j++
				}
				if at(s, j) == '[' && positiveBefore(s, i, 1) {
					return true
				}
			}
		}
	}
	for _, w := range []string{"epoch", "step", "iteration", "iter"} {
		for rest := s; ; {
			i := strings.Index(rest, w)
			if i < 0 {
				break
			}
			rest = rest[i+len(w):]
			t := strings.TrimLeft(rest, ":=#[(")
			j := 0
			for isDigit(at(t, j)) {
				j++
			}
			if j > 0 && positiveBefore(t, j, 1) {
				return true
			}
		}
	}
	return false
}

// positiveBefore says whether the number that ends before i is larger than floor.
func positiveBefore(s string, i int, floor int64) bool {
	j := i
	for j > 0 && isDigit(s[j-1]) {
		j--
	}
	return j < i && toSize(s[j:i], 0, 0).Bytes > floor
}
