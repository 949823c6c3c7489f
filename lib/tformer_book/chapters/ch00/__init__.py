"""The page before chapter 1: the whole machine in one sitting."""
