"""Storm's acker and its relatives, said in Python: one readable model with a profile per version.

Begin with `acker`, which reads beside Acker.java; `versions` has what each version does differently.
"""
