package io.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.jccl.AbortedException;
import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.DeviceException;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.MessageTooLongException;
import io.jccl.MismatchedCollectiveException;
import io.jccl.PeerFailedException;
import io.jccl.RankOperation;
import io.jccl.TransportException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RethrownTest {

    private static final StackTraceElement[] ELSEWHERE = {
        new StackTraceElement("Other", "onAnotherThread", "Other.java", 1)
    };

    static Stream<JcclException> exceptions() {
        return Stream.of(
                new AbortedException("text"),
                new BootstrapException("text"),
                new CommunicationTimeoutException("text", Set.of(3, 5), null),
                new DeviceException("text"),
                new InterruptedCommunicationException("text"),
                new MessageTooLongException("text"),
                new MismatchedCollectiveException("text", List.of(RankOperation.absent(1, 7)), null),
                new PeerFailedException("text", Set.of(2), null),
                new TransportException("text"),
                new JcclException("text"));
    }

    @ParameterizedTest
    @MethodSource("exceptions")
    void theCallerGetsTheSameClassAndFactsWithItsOwnStack(JcclException first) {
        first.setStackTrace(ELSEWHERE);
        JcclException mine = Rethrown.here(first);
        assertThat(mine)
                .isNotSameAs(first)
                .hasSameClassAs(first)
                .hasMessage("text")
                .hasCause(first);
        assertThat(methods(mine)).contains("theCallerGetsTheSameClassAndFactsWithItsOwnStack");
        if (first instanceof CommunicationTimeoutException e) {
            assertThat(((CommunicationTimeoutException) mine).missingRanks()).isEqualTo(e.missingRanks());
        } else if (first instanceof PeerFailedException e) {
            assertThat(((PeerFailedException) mine).failedRanks()).isEqualTo(e.failedRanks());
        } else if (first instanceof MismatchedCollectiveException e) {
            assertThat(((MismatchedCollectiveException) mine).rows()).isEqualTo(e.rows());
        }
        mine.addSuppressed(new IllegalStateException("of this caller"));
        assertThat(first.getSuppressed()).isEmpty();
        assertThat(Rethrown.here(first).getSuppressed()).isEmpty();
    }

    @Test
    void noPublicExceptionIsLeftOut() throws Exception {
        Path classes = Path.of(JcclException.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        try (Stream<Path> files = Files.list(classes.resolve("io/jccl"))) {
            assertThat(files.map(file -> file.getFileName().toString())
                            .filter(name -> name.endsWith("Exception.class")))
                    .containsExactlyInAnyOrderElementsOf(exceptions()
                            .map(one -> one.getClass().getSimpleName() + ".class")
                            .toList());
        }
    }

    static Stream<Throwable> ofOtherThreads() {
        return Stream.concat(
                exceptions(),
                Stream.of(
                        new IllegalArgumentException("text"),
                        new IllegalStateException("text"),
                        new UnsupportedOperationException("text"),
                        new OutOfMemoryError("text"),
                        new NoClassDefFoundError("text")));
    }

    @ParameterizedTest
    @MethodSource("ofOtherThreads")
    void aCallThatAnotherThreadHasExecutedThrowsWithTheStackOfItsCaller(Throwable thrown) {
        thrown.setStackTrace(ELSEWHERE);
        Throwable mine = catchThrowable(() -> {
            throw Rethrown.byCallee(thrown);
        });
        assertThat(mine).hasSameClassAs(thrown).hasMessage("text");
        assertThat(methods(mine)).contains("aCallThatAnotherThreadHasExecutedThrowsWithTheStackOfItsCaller");
        Throwable first = mine.getCause() == null ? mine : mine.getCause();
        assertThat(first).isSameAs(thrown);
        assertThat(methods(first)).contains("onAnotherThread");
    }

    @Test
    void aCheckedExceptionOfAnotherThreadIsTheCause() {
        Exception thrown = new Exception("text");
        assertThat(Rethrown.byCallee(thrown)).isInstanceOf(JcclException.class).hasCause(thrown);
    }

    private static List<String> methods(Throwable e) {
        return Arrays.stream(e.getStackTrace())
                .map(StackTraceElement::getMethodName)
                .map(name -> name.replaceAll("lambda\\$(.*)\\$\\d+", "$1"))
                .toList();
    }
}
