"""A DLL as bytes: what the loader and the rules ask for, inflating no more than that takes.

``image`` reads headers, sections, imports, exports and manifests; everything else begins with its Image.
``version`` says where a file comes from, ``gpucode`` which cards its code is for, ``modulenames`` which modules
compiled Python code names in its data. ``signature`` says who signed it; ``authenticode/`` checks whether that is
true.
"""
