package io.jccl.search;

/** Finds a cheap route through all ranks. */
interface RouteFinder {

    /** The most ranks for which all orders are compared. */
    int MAX_RANKS_EXACT = 10;

    /**
     * A route that costs little.
     *
     * @param start a route to begin with; may be null
     * @return the route, or null if there is none of finite cost or too few steps are left to find it
     */
    Route cheapest(Costs costs, Route start, StepBudget budget);

    /** The steps that any host's first route takes at most. */
    static long stepsOfFirst(int ranks, int entries) {
        return ranks <= MAX_RANKS_EXACT
                ? ExactRoutes.steps(ranks) * (entries + 1L)
                : LocalRoutes.stepsOfFirst(ranks, entries);
    }

    /** The finder that suits a number of ranks. */
    static RouteFinder forRanks(int ranks) {
        return ranks <= MAX_RANKS_EXACT ? new ExactRoutes(ranks) : new LocalRoutes();
    }
}
