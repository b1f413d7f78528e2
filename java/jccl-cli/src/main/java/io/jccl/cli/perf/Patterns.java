package io.jccl.cli.perf;

import java.util.function.IntFunction;

/**
 * The patterns of one run: each rank's input and, for reductions, the result. Each pattern is made at its first use.
 */
final class Patterns {

    private final ElementPattern[] inputs;
    private final IntFunction<ElementPattern> makeInput;
    private final IntFunction<ElementPattern> makeResult; // by the number of ranks
    private final ElementPattern[] results;

    private Patterns(int ranks, IntFunction<ElementPattern> makeInput, IntFunction<ElementPattern> makeResult) {
        this.inputs = new ElementPattern[ranks];
        this.makeInput = makeInput;
        this.makeResult = makeResult;
        this.results = new ElementPattern[ranks];
    }

    /** Returns patterns whose result is known exactly. */
    static Patterns exact(PerfOptions options, int ranks) {
        CheckValues values = new CheckValues(options.type(), options.op(), ranks);
        boolean reduces = options.collective().reduces();
        return new Patterns(
                ranks,
                rank -> new ElementPattern(
                        options.type(), i -> reduces ? values.input(rank, i) : CheckValues.moved(rank, i)),
                lowest -> new ElementPattern(options.type(), i -> values.result(lowest, i)));
    }

    /**
     * Returns inputs whose result depends on the order in which ranks are combined. They test whether that order is
     * fixed.
     */
    static Patterns inexact(PerfOptions options, int ranks) {
        CheckValues values = new CheckValues(options.type(), options.op(), ranks);
        return new Patterns(ranks, rank -> new ElementPattern(options.type(), i -> values.inexact(rank, i)), lowest -> {
            throw new IllegalStateException(
                    "collective=" + options.collective().label() + ": the result of inexact inputs has no closed form");
        });
    }

    /** Returns the input of a rank. */
    ElementPattern input(int rank) {
        if (inputs[rank] == null) {
            inputs[rank] = makeInput.apply(rank);
        }
        return inputs[rank];
    }

    /** Returns the reduction of all inputs. */
    ElementPattern result() {
        return resultOf(results.length);
    }

    /** Returns the reduction of the inputs of the lowest ranks, at least one. */
    ElementPattern resultOf(int lowest) {
        if (results[lowest - 1] == null) {
            results[lowest - 1] = makeResult.apply(lowest);
        }
        return results[lowest - 1];
    }
}
