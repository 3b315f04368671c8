"""The registry: every rule ddplint knows, in the order of its message ids."""

from __future__ import annotations

from ddplint.rules.base import Rule
from ddplint.rules.bypassed_wrapper import RULE as BYPASSED_WRAPPER
from ddplint.rules.collective_in_loss import RULE as COLLECTIVE_IN_LOSS
from ddplint.rules.load_before_barrier import RULE as LOAD_BEFORE_BARRIER
from ddplint.rules.load_without_map_location import RULE as LOAD_WITHOUT_MAP_LOCATION
from ddplint.rules.missing_distributed_sampler import RULE as MISSING_DISTRIBUTED_SAMPLER
from ddplint.rules.missing_set_epoch import RULE as MISSING_SET_EPOCH
from ddplint.rules.rank_dependent_split import RULE as RANK_DEPENDENT_SPLIT
from ddplint.rules.rank_guarded_collective import RULE as RANK_GUARDED_COLLECTIVE
from ddplint.rules.rank_local_exit import RULE as RANK_LOCAL_EXIT
from ddplint.rules.unguarded_save import RULE as UNGUARDED_SAVE
from ddplint.rules.unsynchronized_step import RULE as UNSYNCHRONIZED_STEP
from ddplint.rules.wasted_gradient_sync import RULE as WASTED_GRADIENT_SYNC
from ddplint.rules.wrap_before_move import RULE as WRAP_BEFORE_MOVE
from ddplint.rules.wrapper_state_dict import RULE as WRAPPER_STATE_DICT

RULES: tuple[Rule, ...] = (
    MISSING_DISTRIBUTED_SAMPLER,
    MISSING_SET_EPOCH,
    WRAPPER_STATE_DICT,
    UNGUARDED_SAVE,
    WRAP_BEFORE_MOVE,
    WASTED_GRADIENT_SYNC,
    UNSYNCHRONIZED_STEP,
    BYPASSED_WRAPPER,
    RANK_GUARDED_COLLECTIVE,
    RANK_DEPENDENT_SPLIT,
    RANK_LOCAL_EXIT,
    LOAD_BEFORE_BARRIER,
    COLLECTIVE_IN_LOSS,
    LOAD_WITHOUT_MAP_LOCATION,
)
BY_SYMBOL = {rule.symbol: rule for rule in RULES}

__all__ = ["BY_SYMBOL", "RULES", "Rule"]
