package io.jccl.cli.perf;

import java.util.function.Consumer;

/**
 * Verifies one workload: compares every element of the result with its expected value, the bits of the result between
 * ranks if the collective promises equal bits, and the bits of two runs with the same input.
 */
final class Checker {

    private final Exchange exchange;
    private final Patterns exact;
    private final Patterns repeated;
    private final Consumer<String> complaints;

    /** @param complaints receives descriptions of errors other than wrong elements */
    Checker(PerfOptions options, int ranks, Exchange exchange, Consumer<String> complaints) {
        this.exchange = exchange;
        this.exact = Patterns.exact(options, ranks);
        this.repeated = options.collective().reduces() && options.type().isFloating()
                ? Patterns.inexact(options, ranks)
                : exact;
        this.complaints = complaints;
    }

    /**
     * Returns the number of wrong elements on all ranks together. Each rank for which a second run with the same input
     * produces different bits adds one. Results that differ between ranks, but must not, add one in total.
     *
     * @param once runs the workload's operation once in each batch
     */
    long countWrong(Workload workload, Repetition once) {
        long wrong = 0;
        workload.fill(exact);
        exchange.barrier();
        once.run(1);
        wrong += exchange.sum(workload.countWrong(exact));
        long first = run(workload, once);
        long second = run(workload, once);
        long unstable = exchange.sum(first == second ? 0 : 1);
        if (unstable > 0) {
            complaints.accept("on " + unstable + " ranks a repeat with the same input gave different bits");
            wrong += unstable;
        }
        if (!exchange.isEqualEverywhere(workload.isSameEverywhere() ? second : 0)) {
            complaints.accept("the ranks ended with different bits");
            wrong++;
        }
        return wrong;
    }

    private long run(Workload workload, Repetition once) {
        workload.fill(repeated);
        exchange.barrier();
        once.run(1);
        return workload.checksum();
    }
}
