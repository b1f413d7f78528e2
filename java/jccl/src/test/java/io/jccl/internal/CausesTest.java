package io.jccl.internal;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.JcclException;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.channels.ClosedChannelException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class CausesTest {

    static Stream<Arguments> descriptions() {
        return Stream.of(
                Arguments.of(new ClosedChannelException(), "ClosedChannelException"),
                Arguments.of(new SocketTimeoutException(), "SocketTimeoutException"),
                Arguments.of(new EOFException(" "), "EOFException"),
                Arguments.of(new NullPointerException(), "NullPointerException"),
                Arguments.of(
                        new IOException("", new ClosedChannelException()),
                        "IOException; caused by ClosedChannelException"),
                Arguments.of(new NoSuchFileException("/a"), "NoSuchFileException: /a"),
                Arguments.of(new AccessDeniedException("/a"), "AccessDeniedException: /a"),
                Arguments.of(new FileSystemException("/a", null, "Is a directory"), "/a: Is a directory"),
                Arguments.of(new UnknownHostException("node7"), "UnknownHostException: node7"),
                Arguments.of(new ConnectException("Connection refused"), "Connection refused"),
                Arguments.of(new NoClassDefFoundError("io/jccl/X"), "NoClassDefFoundError: io/jccl/X"),
                Arguments.of(new ExecutionException(new UnknownHostException("b")), "UnknownHostException: b"),
                Arguments.of(new UncheckedIOException(new IOException("broken")), "broken"),
                Arguments.of(new IOException("outer", new IllegalStateException("inner")), "outer; caused by inner"),
                Arguments.of(new IOException("outer: inner", new IOException("inner")), "outer: inner"),
                Arguments.of(new JcclException("rank=1 fails", new IOException("inner")), "rank=1 fails"),
                Arguments.of(
                        new IllegalArgumentException("a=1: expected 2", new NumberFormatException("x")),
                        "a=1: expected 2"));
    }

    @ParameterizedTest
    @MethodSource("descriptions")
    void anExceptionIsDescribedByItsMessageAndByItsNameIfThatSaysLittle(Throwable exception, String expected) {
        assertThat(Causes.describe(exception)).isEqualTo(expected);
    }

    @Test
    void aCycleOfCausesIsDescribedOnce() {
        IOException one = new IOException("one");
        IOException two = new IOException("two", one);
        one.initCause(two);
        assertThat(Causes.describe(one)).isEqualTo("one; caused by two");
    }

    @Test
    void aLimitThatAMessageOfThisLibraryNamesIsNotRepeated() {
        JcclException named = new JcclException(
                "file=/a: " + Causes.describe(new IOException("No space left on device")) + "; try /b");
        assertThat(Causes.describe(named)).isEqualTo(named.getMessage());
    }

    @Test
    void aLimitThatWasReachedIsNamed() {
        assertThat(Causes.describe(new IOException(
                        "Unable to establish loopback connection",
                        new java.net.SocketException("Too many open files"))))
                .startsWith("Unable to establish loopback connection; caused by Too many open files; ")
                .contains("RLIMIT_NOFILE=", "ulimit -n");
    }
}
