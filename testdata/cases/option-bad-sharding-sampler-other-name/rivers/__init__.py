from .orders import *
