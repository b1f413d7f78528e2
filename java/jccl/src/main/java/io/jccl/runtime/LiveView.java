package io.jccl.runtime;

import io.jccl.bootstrap.LastEntered;
import io.jccl.bootstrap.StatusSource;
import io.jccl.status.CommunicatorView;
import java.util.List;
import java.util.Optional;

/** What those see of a communicator who look into the process. */
final class LiveView implements CommunicatorView {

    private final EngineStatus status;
    private final List<StallDetector<?>> stalls;
    private final FailureState failures;

    LiveView(EngineStatus status, List<StallDetector<?>> stalls, FailureState failures) {
        this.status = status;
        this.stalls = stalls;
        this.failures = failures;
    }

    @Override
    public StatusSource source() {
        return status;
    }

    @Override
    public LastEntered lastDone() {
        return status.lastDone();
    }

    @Override
    public Optional<UnderWay> underWay() {
        return stalls.stream()
                .map(stall -> stall.underWay(status::isRunning))
                .flatMap(Optional::stream)
                .findFirst()
                .map(this::withoutRank);
    }

    /** The same text on all ranks: of what kernels execute, only the record is known. */
    private UnderWay withoutRank(UnderWay it) {
        return LastEntered.isOnDevice(it.sequence())
                ? status.recordAt(it.sequence())
                        .map(record -> new UnderWay(record.operation().call(), it.sequence(), it.nanos()))
                        .orElse(it)
                : it;
    }

    @Override
    public List<TimedWait> waits() {
        return status.waits();
    }

    @Override
    public Optional<String> failure() {
        Failure failure = failures.current();
        return failure == null ? Optional.empty() : Optional.of(failure.first().getMessage());
    }
}
