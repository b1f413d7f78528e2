package io.jccl.nativelib;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.jccl.events.LogContext;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.junit.jupiter.api.Test;
import org.slf4j.MDC;

class LogDrainTest {

    private final LoggerContext context = new LoggerContext();
    private final ListAppender<ILoggingEvent> events = new ListAppender<>() {
        @Override
        protected void append(ILoggingEvent event) {
            event.prepareForDeferredProcessing(); // stores the current mapped diagnostic context
            super.append(event);
        }
    };

    LogDrainTest() {
        context.setMDCAdapter(MDC.getMDCAdapter());
        events.start();
        Logger root = context.getLogger(org.slf4j.Logger.ROOT_LOGGER_NAME);
        root.setLevel(ch.qos.logback.classic.Level.TRACE);
        root.addAppender(events);
    }

    @Test
    void everyRecordGoesToTheLoggerOfItsSubsystemAtItsLevel() {
        Queue<String> records = new ArrayDeque<>(List.of("0 shm   a", "2 net   peer=3 lost", "4 engine   "));

        new LogDrain(records::poll, () -> 0, context::getLogger).drain();

        assertThat(events.list)
                .extracting(event -> event.getLevel() + " " + event.getLoggerName() + " " + event.getFormattedMessage())
                .containsExactly("TRACE io.jccl.shm a", "INFO io.jccl.net peer=3 lost", "ERROR io.jccl.engine ");
    }

    @Test
    void aRecordOfACommunicatorHasItsRankAndNameInItsContext() {
        Queue<String> records = new ArrayDeque<>(List.of("2 net 3 ab12-g1 a b", "2 net 4  c", "2 net   d"));

        new LogDrain(records::poll, () -> 0, context::getLogger).drain();

        assertThat(events.list)
                .extracting(ILoggingEvent::getMDCPropertyMap)
                .containsExactly(
                        Map.of(LogContext.RANK, "3", LogContext.COMMUNICATOR, "ab12-g1"),
                        Map.of(LogContext.RANK, "4"),
                        Map.of());
        assertThat(events.list).extracting(ILoggingEvent::getFormattedMessage).containsExactly("a b", "c", "d");
    }

    @Test
    void lostRecordsAreReportedOnce() {
        LogDrain drain = new LogDrain(() -> null, () -> 7, context::getLogger);

        drain.drain();
        drain.drain();

        assertThat(events.list)
                .extracting(ILoggingEvent::getFormattedMessage)
                .containsExactly("dropped=7 native log records: more came than could be taken");
    }

    @Test
    void theLowestLevelIsTheOneThatTheLoggerAccepts() {
        Logger logger = context.getLogger("io.jccl");
        logger.setLevel(ch.qos.logback.classic.Level.WARN);

        assertThat(LogDrain.lowest(logger)).isEqualTo(3);
    }
}
