"""The parts of ``fake_cuda``; they are imported in watched processes alone, once torch is there."""
