const makeWithGaps = () => complete;
