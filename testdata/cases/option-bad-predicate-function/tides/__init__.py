from .duties import has_a_window, holds_the_pen as writes_here
