package io.jccl.search;

import java.util.function.Function;

/** Counts the elementary steps of a search, so that its result does not depend on a clock. */
final class StepBudget {

    private final long limit;
    private long spent;

    StepBudget(long limit) {
        this.limit = limit;
    }

    /** Takes {@code steps} steps from the budget and returns true; takes none and returns false if fewer are left. */
    boolean take(long steps) {
        if (steps > limit - spent) {
            return false;
        }
        spent += steps;
        return true;
    }

    /** Runs {@code search} with at most {@code steps} of the remaining steps. */
    <T> T share(long steps, Function<StepBudget, T> search) {
        StepBudget part = new StepBudget(Math.min(steps, left()));
        T found = search.apply(part);
        spent += part.spent;
        return found;
    }

    long left() {
        return limit - spent;
    }

    long spent() {
        return spent;
    }
}
