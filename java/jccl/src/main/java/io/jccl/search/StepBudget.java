package io.jccl.search;

import java.util.function.Function;

/** Counts the elementary steps of a search, so that its result depends on no clock. */
final class StepBudget {

    private final long limit;
    private long spent;

    StepBudget(long limit) {
        this.limit = limit;
    }

    /** Takes steps if as many are left, and says whether it did. */
    boolean take(long steps) {
        if (steps > limit - spent) {
            return false;
        }
        spent += steps;
        return true;
    }

    /** Lets {@code search} take up to so many of these steps. */
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
