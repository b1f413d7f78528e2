package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.UniqueId;
import io.jccl.events.LogContext;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.slf4j.LoggerFactory;
import org.slf4j.MDC;

/** Rank and communicator in the mapped diagnostic context (MDC) of log records. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
@SuppressWarnings("try") // contexts are only opened and closed
class LogContextTest {

    /** Collects the records of a logger, each with its MDC, until it is closed. */
    private static final class Contexts extends AppenderBase<ILoggingEvent> implements AutoCloseable {

        private final Logger logger;
        private final BlockingQueue<ILoggingEvent> events = new LinkedBlockingQueue<>();

        Contexts(String logger) {
            this.logger = (Logger) LoggerFactory.getLogger(logger);
            start();
            this.logger.addAppender(this);
        }

        @Override
        protected void append(ILoggingEvent event) {
            event.getMDCPropertyMap(); // stores the MDC of the thread that logs
            events.add(event);
        }

        @Override
        public void close() {
            logger.detachAppender(this);
        }

        /** Takes records until one contains {@code text}, and returns that one. */
        ILoggingEvent next(String text) throws InterruptedException {
            while (true) {
                ILoggingEvent event = events.poll(LocalRanks.TIMEOUT.toSeconds(), TimeUnit.SECONDS);
                assertThat(event).as("a record with %s", text).isNotNull();
                if (event.getFormattedMessage().contains(text)) {
                    return event;
                }
            }
        }
    }

    @Test
    void recordsOfInitHaveRankAndCommunicatorAndKeepTheCallersContext() throws Exception {
        Contexts contexts = new Contexts("io.jccl.init");
        MDC.put(LogContext.RANK, "the caller's");
        MDC.put("request", "7");
        String name;
        try (contexts) {
            UniqueId id = UniqueId.create();
            CompletableFuture<Void> other = CompletableFuture.runAsync(
                    () -> Communicator.init(id, 1, 2).close(), task -> new Thread(task).start());
            try (Communicator comm = Communicator.init(id, 0, 2)) {
                name = comm.id();
                assertThat(MDC.getCopyOfContextMap())
                        .isEqualTo(Map.of(LogContext.RANK, "the caller's", "request", "7"));
            }
            assertThat(MDC.getCopyOfContextMap()).isEqualTo(Map.of(LogContext.RANK, "the caller's", "request", "7"));
            other.get(60, TimeUnit.SECONDS);
        } finally {
            MDC.clear();
        }
        for (int rank = 0; rank < 2; rank++) {
            String mine = Integer.toString(rank);
            assertThat(contexts.events)
                    .filteredOn(event -> event.getFormattedMessage()
                            .matches("communicator=" + name + " rank=" + mine + " .* ready: .*"))
                    .hasSize(1)
                    .allSatisfy(event -> assertThat(event.getMDCPropertyMap())
                            .containsEntry(LogContext.RANK, mine)
                            .containsEntry(LogContext.COMMUNICATOR, name));
        }
    }

    @Test
    void recordsOfNativeCodeHaveRankAndCommunicator() throws Exception {
        String library = "libibverbs-that-nobody-has.so";
        CommunicatorConfig config =
                LocalRanks.config().setting("JCCL_IB_LIBRARY", library).build();
        try (Contexts contexts = new Contexts("io.jccl.net");
                LocalRanks ranks = LocalRanks.start(2, config)) {
            List<Map<String, String>> expected = ranks.call(
                    comm -> Map.of(LogContext.RANK, Integer.toString(comm.rank()), LogContext.COMMUNICATOR, comm.id()));
            assertThat(List.of(contexts.next(library), contexts.next(library)))
                    .extracting(ILoggingEvent::getMDCPropertyMap)
                    .containsExactlyInAnyOrderElementsOf(expected);
        }
    }

    @Test
    void continuationsOfTheCommunicatorsThreadHaveItsContext() throws Exception {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                String seen = comm.barrier()
                        .toFuture()
                        .thenApply(done -> MDC.get(LogContext.RANK) + " " + MDC.get(LogContext.COMMUNICATOR))
                        .get(30, TimeUnit.SECONDS);
                String thread = comm.rank() + " " + comm.id();
                // The context is null if the future was already complete, because this thread then runs the
                // continuation.
                assertThat(seen).isIn(thread, "null null");
            });
        }
    }

    @Test
    void nestedContextsAreRestoredOneByOne() {
        try (LogContext outer = LogContext.of(3, "one")) {
            try (LogContext inner = LogContext.of(0)) {
                assertThat(MDC.get(LogContext.RANK)).isEqualTo("0");
                assertThat(MDC.get(LogContext.COMMUNICATOR)).isNull();
            }
            assertThat(MDC.get(LogContext.RANK)).isEqualTo("3");
            assertThat(MDC.get(LogContext.COMMUNICATOR)).isEqualTo("one");
        }
        assertThat(MDC.get(LogContext.RANK)).isNull();
        assertThat(MDC.get(LogContext.COMMUNICATOR)).isNull();
    }
}
