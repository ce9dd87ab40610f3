package oom

// Codes lists every code that an Explanation can carry, by what it is, for
// whoever holds the words.
func Codes() map[string][]string {
	return map[string][]string{
		"kind": {KindGPU, KindCPU, KindLibrary, KindNotFatal, KindUnrecognised},
		"field": {Requested, Total, Free, Allocated, Reserved, ReservedUnallocated, Allowed, PrivatePools, InUse, OtherProcess, OtherAllocations,
			Used, Exceeded, TokensNeeded, TokensAvailable},
		"verdict": {VerdictUnrecognised, VerdictNotFatal, VerdictLibrary, VerdictPinned, VerdictHostFull, VerdictHostTooBig, VerdictKVCache, VerdictLimit,
			VerdictOtherProcess, VerdictExceedsCard, VerdictProgram, VerdictFragmentation, VerdictSingleLimit, VerdictRefused, VerdictTooBig, VerdictGrew,
			VerdictCardFull, VerdictRequestOnly, VerdictNamedTensor, VerdictNoNumbers},
		"advice": {AdviceBatch, AdviceLength, AdvicePrecision, AdviceCheckpoint, AdviceNoGrad, AdviceProcesses, AdviceRestart, AdviceExpandable, AdviceLimit,
			AdviceDetach, AdviceLongest, AdviceHost, AdvicePinned, AdviceContext, AdviceMore, AdviceNothing},
		"warning": {WarnCut, WarnWSL, WarnOwnProcess, WarnPinned, WarnMaybeHarmless, WarnSeveral, WarnNotSegment, WarnRanBefore},
		"tensor":  {TensorNamed, TensorModel, TensorScores, TensorWindows, TensorLogits, TensorHidden, TensorMaps, TensorVolumes, TensorWeights, TensorEmbedding},
		"why":     {WhyNamed, WhyNamedNoType, TensorModel, TensorScores, TensorWindows, TensorLogits, TensorHidden, TensorMaps, TensorVolumes, TensorWeights, TensorEmbedding},
		"sure":    {Certain, Likely, Possible},
	}
}
