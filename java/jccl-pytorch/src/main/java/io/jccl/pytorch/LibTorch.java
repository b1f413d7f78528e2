package io.jccl.pytorch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/** Loads libtorch. */
public final class LibTorch {

    private LibTorch() {}

    /**
     * Loads libtorch, in one process of this host after the other. Call this before anything else uses the preset.
     *
     * <p>At the first start on a host, JavaCPP unpacks the native libraries into a folder that all processes share. Ranks
     * that unpack at the same time rewrite libraries which others have loaded, and these ranks die of SIGBUS. Processes
     * wait here for each other, whether they unpack or not.
     *
     * @throws UncheckedIOException if the folder is not writable; set the property org.bytedeco.javacpp.cachedir
     * @throws UnsatisfiedLinkError if the native libraries are not on the class path
     */
    public static synchronized void load() {
        try (FileChannel file = FileChannel.open(lockFile(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            FileLock lock = file.lock(); // fails if another thread of this process holds it, hence synchronized
            try {
                Loader.load(torch.class);
            } finally {
                lock.release();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "org.bytedeco.javacpp.cachedir=" + System.getProperty("org.bytedeco.javacpp.cachedir")
                            + ": expected a folder in which this process can write; set the property",
                    e);
        }
    }

    private static Path lockFile() throws IOException {
        return Loader.getCacheDir().toPath().resolve("jccl.lock");
    }
}
