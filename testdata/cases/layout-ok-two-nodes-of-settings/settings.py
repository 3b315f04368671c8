from yacs.config import CfgNode as Node

settings = Node()
settings.TRAIN = Node()
settings.TRAIN.DISTRIBUTED = True
settings.TEST = Node()
settings.TEST.DISTRIBUTED = False
