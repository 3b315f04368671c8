import random

import numpy
import torch

SEED = 5
random.seed(SEED)
numpy.random.seed(SEED)
torch.manual_seed(SEED)
