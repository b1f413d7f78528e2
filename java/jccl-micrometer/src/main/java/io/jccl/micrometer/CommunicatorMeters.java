package io.jccl.micrometer;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.CommunicatorMetrics;
import io.jccl.MemoryUsage;
import io.jccl.TransportKind;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * Binds a communicator to a registry:
 *
 * <pre>{@code
 * new CommunicatorMeters(comm).bindTo(registry);
 * }</pre>
 *
 * <p>Each meter has the tags {@code communicator} and {@code rank}. Meters read {@link Communicator#metrics()} when the registry
 * asks; they do not keep the communicator reachable. After {@link Communicator#close()} counters stay as they were. Remove them
 * with {@link MeterRegistry#remove} where communicators come and go.
 */
public final class CommunicatorMeters implements MeterBinder {

    private final Communicator communicator;
    private final Tags tags;

    /** Meters of a communicator. */
    public CommunicatorMeters(Communicator communicator) {
        this(communicator, Tags.empty());
    }

    /**
     * Meters of a communicator.
     *
     * @param tags that each meter has beside its own
     */
    public CommunicatorMeters(Communicator communicator, Iterable<Tag> tags) {
        this.communicator = Objects.requireNonNull(
                communicator, "communicator=null: expected the one whose operations are counted");
        this.tags = Tags.of(Objects.requireNonNull(tags, "tags=null: expected tags, or Tags.empty()"))
                .and("communicator", communicator.id(), "rank", Integer.toString(communicator.rank()));
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        for (Collective collective : Collective.values()) {
            bind(registry, collective);
        }
        for (TransportKind transport : TransportKind.values()) {
            bind(registry, transport);
        }
        counter(registry, "jccl.failures", "1 once the communicator has failed", tags, CommunicatorMetrics::failures);
        gauge(registry, "segment", MemoryUsage::residentBytes);
        gauge(registry, "network", MemoryUsage::networkBytes);
        gauge(registry, "staging", MemoryUsage::stagingBytes);
    }

    private void bind(MeterRegistry registry, Collective collective) {
        Tags own = tags.and("collective", collective.label());
        FunctionTimer.builder(
                        "jccl.operations",
                        communicator,
                        it -> of(it, collective).operations(),
                        it -> of(it, collective).time().toNanos(),
                        TimeUnit.NANOSECONDS)
                .description("Operations that ended well, and their time")
                .tags(own)
                .register(registry);
        FunctionCounter.builder("jccl.operations.bytes", communicator, it -> of(it, collective)
                        .bytes())
                .description("Bytes of the larger buffer of this rank")
                .baseUnit(BaseUnits.BYTES)
                .tags(own)
                .register(registry);
        counter(
                registry,
                "jccl.operations.in.place",
                "Operations that read and wrote the buffers of other ranks",
                own,
                it -> it.collectives().get(collective).inPlace());
    }

    private static CommunicatorMetrics.OfCollective of(Communicator communicator, Collective collective) {
        return communicator.metrics().collectives().get(collective);
    }

    private void bind(MeterRegistry registry, TransportKind transport) {
        Tags own = tags.and("transport", transport.label());
        FunctionCounter.builder("jccl.transport.sent", communicator, it -> of(it, transport)
                        .sentBytes())
                .description("Bytes sent, as they lay in slots")
                .baseUnit(BaseUnits.BYTES)
                .tags(own)
                .register(registry);
        FunctionTimer.builder(
                        "jccl.transport.long.waits",
                        communicator,
                        it -> of(it, transport).longWaits(),
                        it -> of(it, transport).waited().toNanos(),
                        TimeUnit.NANOSECONDS)
                .description("Waits for other ranks of a millisecond or more")
                .tags(own)
                .register(registry);
    }

    private static CommunicatorMetrics.OfTransport of(Communicator communicator, TransportKind transport) {
        return communicator.metrics().transports().get(transport);
    }

    private void counter(
            MeterRegistry registry,
            String name,
            String description,
            Tags own,
            ToDoubleFunction<CommunicatorMetrics> value) {
        FunctionCounter.builder(name, communicator, it -> value.applyAsDouble(it.metrics()))
                .description(description)
                .tags(own)
                .register(registry);
    }

    private void gauge(MeterRegistry registry, String area, ToLongFunction<MemoryUsage> bytes) {
        Gauge.builder("jccl.memory", communicator, it -> bytes.applyAsLong(it.memoryUsage()))
                .description("Memory that the communicator holds in this process")
                .baseUnit(BaseUnits.BYTES)
                .tags(tags.and("area", area))
                .register(registry);
    }
}
