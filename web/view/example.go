package view

// ExampleMessage is the message that the lesson opens with: its own network,
// with 512 images on a card of 4 GB. ExampleStart is how such messages begin.
const (
	ExampleStart   = "torch.OutOfMemoryError: CUDA out of memory. "
	ExampleMessage = ExampleStart + "Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 3.81 GiB of which 250.64 MiB is free. Including non-PyTorch memory, this process has 3.57 GiB memory in use. Of the allocated memory 2.97 GiB is allocated by PyTorch, and 147.94 MiB is reserved by PyTorch but unallocated."
)
