package io.jccl.search;

/** Finds a cheap route through all ranks. */
interface RouteFinder {

    /** Largest number of ranks for which all orders are compared. */
    int MAX_RANKS_EXACT = 10;

    /**
     * Returns a cheap route.
     *
     * @param start a route to start from, or null
     * @return null if there is no possible route or too few steps are left to find one
     */
    Route cheapest(Costs costs, Route start, StepBudget budget);

    /** Returns the largest number of steps that the first route of a host can take. */
    static long stepsOfFirst(int ranks, int entries) {
        return ranks <= MAX_RANKS_EXACT
                ? ExactRoutes.steps(ranks) * (entries + 1L)
                : LocalRoutes.stepsOfFirst(ranks, entries);
    }

    /** Returns the finder that suits a number of ranks. */
    static RouteFinder forRanks(int ranks) {
        return ranks <= MAX_RANKS_EXACT ? new ExactRoutes(ranks) : new LocalRoutes();
    }
}
