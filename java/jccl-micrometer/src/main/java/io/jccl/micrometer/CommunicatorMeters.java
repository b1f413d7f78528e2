package io.jccl.micrometer;

import io.jccl.Collective;
import io.jccl.Communicator;
import io.jccl.CommunicatorMetrics;
import io.jccl.MemoryUsage;
import io.jccl.TransportKind;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.FunctionTimer;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.BaseUnits;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * Binds the metrics of a communicator to a registry:
 *
 * <pre>{@code
 * new CommunicatorMeters(comm).bindTo(registry);
 * }</pre>
 *
 * <p>Each meter has the tags {@code communicator}, which is {@link Communicator#name()}, and {@code rank}. If another
 * communicator of the process has the same name and rank, and is bound to the same registry, the tag
 * {@code communicator} of the one that is bound later ends in {@code -2}, {@code -3} and so on, in the order of
 * binding. Give communicators names to keep their meters apart.
 *
 * <p>Meters read {@link Communicator#metrics()} when the registry asks. They do not keep the communicator reachable.
 * After {@link Communicator#close()} counters keep their values. {@link #close()} removes the meters from their
 * registries.
 */
public final class CommunicatorMeters implements MeterBinder, AutoCloseable {

    private static final String FAILURES = "jccl.failures";

    /** Lock for binding: two ranks of one process may bind their meters at the same time. */
    private static final Object BINDING = new Object();

    private final Communicator communicator;
    private final Tags given;

    /** Actions that each remove a meter from its registry. */
    private final List<Runnable> removals = new CopyOnWriteArrayList<>();

    /** Creates meters of a communicator. */
    public CommunicatorMeters(Communicator communicator) {
        this(communicator, Tags.empty());
    }

    /**
     * Creates meters of a communicator.
     *
     * @param tags tags of each meter in addition to its own
     */
    public CommunicatorMeters(Communicator communicator, Iterable<Tag> tags) {
        this.communicator = Objects.requireNonNull(
                communicator, "communicator=null: expected the one whose operations are counted");
        this.given = Tags.of(Objects.requireNonNull(tags, "tags=null: expected tags, or Tags.empty()"));
    }

    /**
     * Removes the meters of this communicator from all registries. Call this when the communicator is closed for good.
     */
    @Override
    public void close() {
        removals.forEach(Runnable::run);
        removals.clear();
    }

    @Override
    public void bindTo(MeterRegistry registry) {
        synchronized (BINDING) {
            new Binding(registry, freeTags(registry)).all();
        }
    }

    /**
     * Returns tags for this communicator's meters. No other communicator's meters in the registry have the same tags.
     */
    private Tags freeTags(MeterRegistry registry) {
        Tags tags = numbered(1);
        for (int number = 2; registry.find(FAILURES).tags(tags).meter() != null; number++) {
            tags = numbered(number);
        }
        return tags;
    }

    private Tags numbered(int number) {
        String name = communicator.name() + (number == 1 ? "" : "-" + number);
        return given.and("communicator", name, "rank", Integer.toString(communicator.rank()));
    }

    private static CommunicatorMetrics.OfCollective of(Communicator communicator, Collective collective) {
        return communicator.metrics().collectives().get(collective);
    }

    private static CommunicatorMetrics.OfTransport of(Communicator communicator, TransportKind transport) {
        return communicator.metrics().transports().get(transport);
    }

    /** Registers the meters of one registry. */
    private final class Binding {

        private final MeterRegistry registry;
        private final Tags tags;

        Binding(MeterRegistry registry, Tags tags) {
            this.registry = registry;
            this.tags = tags;
        }

        void all() {
            for (Collective collective : Collective.values()) {
                collective(collective);
            }
            for (TransportKind transport : TransportKind.values()) {
                transport(transport);
            }
            counter(FAILURES, "1 once the communicator has failed", tags, it -> it.metrics()
                    .failures());
            gauge("segment", MemoryUsage::residentBytes);
            gauge("network", MemoryUsage::networkBytes);
            gauge("staging", MemoryUsage::stagingBytes);
        }

        private void collective(Collective collective) {
            Tags own = tags.and("collective", collective.label());
            timer(
                    "jccl.operations",
                    "Operations that ended well, and their time",
                    own,
                    it -> of(it, collective).operations(),
                    it -> of(it, collective).time());
            bytes("jccl.operations.bytes", "Bytes of the larger buffer of this rank", own, it -> of(it, collective)
                    .bytes());
            counter(
                    "jccl.operations.in.place",
                    "Operations that read and wrote the buffers of other ranks",
                    own,
                    it -> of(it, collective).inPlace());
        }

        private void transport(TransportKind transport) {
            Tags own = tags.and("transport", transport.label());
            bytes("jccl.transport.sent", "Bytes sent, as they lay in slots", own, it -> of(it, transport)
                    .sentBytes());
            timer(
                    "jccl.transport.long.waits",
                    "Waits for other ranks of a millisecond or more",
                    own,
                    it -> of(it, transport).longWaits(),
                    it -> of(it, transport).waited());
        }

        private void timer(
                String name,
                String description,
                Tags own,
                ToLongFunction<Communicator> count,
                Function<Communicator, Duration> time) {
            keep(FunctionTimer.builder(
                            name, communicator, count, it -> time.apply(it).toNanos(), TimeUnit.NANOSECONDS)
                    .description(description)
                    .tags(own)
                    .register(registry));
        }

        private void counter(String name, String description, Tags own, ToDoubleFunction<Communicator> value) {
            counter(FunctionCounter.builder(name, communicator, value), description, own);
        }

        private void bytes(String name, String description, Tags own, ToDoubleFunction<Communicator> value) {
            counter(FunctionCounter.builder(name, communicator, value).baseUnit(BaseUnits.BYTES), description, own);
        }

        private void counter(FunctionCounter.Builder<Communicator> counter, String description, Tags own) {
            keep(counter.description(description).tags(own).register(registry));
        }

        private void gauge(String area, ToLongFunction<MemoryUsage> bytes) {
            keep(Gauge.builder("jccl.memory", communicator, it -> bytes.applyAsLong(it.memoryUsage()))
                    .description("Memory that the communicator holds in this process")
                    .baseUnit(BaseUnits.BYTES)
                    .tags(tags.and("area", area))
                    .register(registry));
        }

        private void keep(Meter meter) {
            removals.add(() -> registry.remove(meter));
        }
    }
}
