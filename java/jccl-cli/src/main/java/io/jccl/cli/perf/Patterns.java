package io.jccl.cli.perf;

import java.util.function.IntFunction;
import java.util.function.Supplier;

/**
 * The patterns of one run: each rank's input and, for reductions, the result. Each pattern is made at its first use.
 */
final class Patterns {

    private final ElementPattern[] inputs;
    private final IntFunction<ElementPattern> makeInput;
    private final Supplier<ElementPattern> makeResult;
    private ElementPattern result;

    private Patterns(int ranks, IntFunction<ElementPattern> makeInput, Supplier<ElementPattern> makeResult) {
        this.inputs = new ElementPattern[ranks];
        this.makeInput = makeInput;
        this.makeResult = makeResult;
    }

    /** Returns patterns whose result is known exactly. */
    static Patterns exact(PerfOptions options, int ranks) {
        CheckValues values = new CheckValues(options.type(), options.op(), ranks);
        boolean reduces = options.collective().reduces();
        return new Patterns(
                ranks,
                rank -> new ElementPattern(
                        options.type(), i -> reduces ? values.input(rank, i) : CheckValues.moved(rank, i)),
                () -> new ElementPattern(options.type(), values::result));
    }

    /**
     * Returns inputs whose result depends on the order in which ranks are combined. They test whether that order is
     * fixed.
     */
    static Patterns inexact(PerfOptions options, int ranks) {
        CheckValues values = new CheckValues(options.type(), options.op(), ranks);
        return new Patterns(ranks, rank -> new ElementPattern(options.type(), i -> values.inexact(rank, i)), () -> {
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
        if (result == null) {
            result = makeResult.get();
        }
        return result;
    }
}
