package torch

// Rules are what changed between PyTorch versions; each field names its source.
type Rules struct {
	// MeanSavesInput: mean(dim) saved its input before 2.2 (pytorch issue 109876, PR 109935).
	MeanSavesInput bool
	// SDPA: nn.MultiheadAttention and nn.TransformerEncoderLayer call
	// scaled_dot_product_attention since 2.0 (release notes of 2.0).
	SDPA bool
	// Attention is the kernel behind scaled_dot_product_attention: math, flash or efficient.
	Attention string
	// LinearAnyRank: F.linear fuses the bias for a contiguous input of any rank since 2.1, before only for
	// matrices and three dimensions (pytorch PR 106433).
	LinearAnyRank bool
	// LinearAddCopies: where F.linear adds the bias after the product it copies under a dispatch mode, which is
	// how the networks of 1.13 were measured; else in place (aten/src/ATen/native/Linear.cpp, isTensorSubclassLike).
	LinearAddCopies bool
	// KernelCopies: count the contiguous copies kernels make for themselves (native_layer_norm's expect_contiguous);
	// the networks of 1.13 were measured above the kernels, where they cannot be seen.
	KernelCopies bool
	// Im2ColSavesInput: unfold keeps its input in 1.13, where pytorch PR 85542 wrote its gradient with self.size(-2);
	// not in 2.6 (both measured).
	Im2ColSavesInput bool
	// SoftmaxSavesInput: softmax and log_softmax kept their input beside their result before 1.11 (pytorch PR 66018).
	SoftmaxSavesInput bool
	// MathUpcasts: the math kernel of scaled_dot_product_attention computes half operands in float32 and uses
	// _safe_softmax, since 2.5 (aten/src/ATen/native/transformers/attention.cpp).
	MathUpcasts bool
	// FusedRMSNorm: CUDA's own rms_norm kernel, since 2.9 (pytorch PR 153666).
	FusedRMSNorm bool
	// AccumulateInPlace: the engine adds a second gradient into the first when it holds the
	// only reference (input_buffer.cpp, can_accumulate_inplace).
	AccumulateInPlace bool
}
