package io.jccl.cli.perf;

import java.util.function.Consumer;

/**
 * Verifies one workload: every element of the result against its closed form, the same bits on all ranks where the
 * collective promises it, and the same bits when it is repeated.
 */
final class Checker {

    private final Exchange exchange;
    private final Patterns exact;
    private final Patterns repeated;
    private final Consumer<String> complaints;

    /**
     * @param complaints receives a description of what is wrong beside single elements
     */
    Checker(PerfOptions options, int ranks, Exchange exchange, Consumer<String> complaints) {
        this.exchange = exchange;
        this.exact = Patterns.exact(options, ranks);
        this.repeated = options.collective().reduces() && options.type().isFloating()
                ? Patterns.inexact(options, ranks)
                : exact;
        this.complaints = complaints;
    }

    /** How many elements were wrong on all ranks together; bits that differ between ranks or repeats count as one each. */
    long countWrong(Workload workload) {
        long wrong = 0;
        workload.fill(exact);
        exchange.barrier();
        workload.call().issue().await();
        wrong += exchange.sum(workload.countWrong(exact));
        long first = run(workload);
        long second = run(workload);
        long unstable = exchange.sum(first == second ? 0 : 1);
        if (unstable > 0) {
            complaints.accept("on " + unstable + " ranks a repeat with the same input gave other bits");
            wrong += unstable;
        }
        if (!exchange.isEqualEverywhere(workload.isSameEverywhere() ? second : 0)) {
            complaints.accept("the ranks ended with different bits");
            wrong++;
        }
        return wrong;
    }

    private long run(Workload workload) {
        workload.fill(repeated);
        exchange.barrier();
        workload.call().issue().await();
        return workload.checksum();
    }
}
