package io.jccl.fuzz;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

/**
 * The fuzz targets: readers of bytes from other processes or users. The class of a target has a method {@code
 * fuzzerTestOneInput}, which Jazzer calls, and a method {@code seeds}. The stored corpus of a target is an archive
 * among the resources of this package.
 */
enum FuzzTarget {
    CONTROL("io.jccl.control.ControlFrameFuzz"),
    PEERS("io.jccl.init.PeerBytesFuzz"),
    FORWARDING("io.jccl.pxn.ForwardingFuzz"),
    SURVEY("io.jccl.fuzz.SurveyFuzz"),
    STATUS("io.jccl.status.StatusFuzz"),
    UNIQUE_ID("io.jccl.fuzz.UniqueIdFuzz"),
    TOPOLOGY("io.jccl.fuzz.TopologyFuzz"),
    TUNING_PROFILE("io.jccl.fuzz.TuningProfileFuzz");

    private final String className;

    FuzzTarget(String className) {
        this.className = className;
    }

    /** Returns the targets except those of parts that are left out. */
    static List<FuzzTarget> present() {
        return Stream.of(values()).filter(FuzzTarget::isPresent).toList();
    }

    private boolean isPresent() {
        try {
            Class.forName(className);
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    /** Runs the target on an input. */
    void run(byte[] input) throws Throwable {
        try {
            Class.forName(className)
                    .getMethod("fuzzerTestOneInput", byte[].class)
                    .invoke(null, (Object) input);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** Returns the seeds and the stored corpus, by name. */
    @SuppressWarnings("unchecked")
    SortedMap<String, byte[]> inputs() throws ReflectiveOperationException, IOException {
        SortedMap<String, byte[]> inputs = new TreeMap<>();
        ((Map<String, byte[]>) Class.forName(className).getMethod("seeds").invoke(null))
                .forEach((name, bytes) -> inputs.put("seed-" + name, bytes));
        try (InputStream archive = FuzzTarget.class.getResourceAsStream(archive())) {
            if (archive != null) {
                ZipInputStream entries = new ZipInputStream(archive);
                for (ZipEntry entry = entries.getNextEntry(); entry != null; entry = entries.getNextEntry()) {
                    inputs.put(entry.getName(), entries.readAllBytes());
                }
            }
        }
        return inputs;
    }

    private String archive() {
        return name().toLowerCase(Locale.ROOT) + ".zip";
    }

    /**
     * Runs a command of {@code scripts/check-fuzz}: {@code list} prints the names and classes of the targets; {@code
     * unpack FOLDER} unpacks the corpora into folders with the names of the targets; {@code pack FOLDER ARCHIVES} packs
     * these folders.
     */
    public static void main(String[] arguments) throws Exception {
        for (FuzzTarget target : present()) {
            switch (arguments[0]) {
                case "list" -> System.out.println(target + " " + target.className);
                case "unpack" -> target.unpack(Path.of(arguments[1], target.name()));
                case "pack" -> target.pack(Path.of(arguments[1], target.name()), Path.of(arguments[2]));
                default -> throw new IllegalArgumentException(
                        "command=" + arguments[0] + ": expected list, unpack or pack");
            }
        }
    }

    private void unpack(Path folder) throws ReflectiveOperationException, IOException {
        Files.createDirectories(folder);
        for (Map.Entry<String, byte[]> input : inputs().entrySet()) {
            Files.write(folder.resolve(input.getKey()), input.getValue());
        }
    }

    /** Packs the corpus of a folder; equal inputs give equal archives. */
    private void pack(Path folder, Path archives) throws IOException {
        SortedMap<String, byte[]> inputs = new TreeMap<>();
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : (Iterable<Path>) files::iterator) {
                String name = file.getFileName().toString();
                if (!name.startsWith("seed-")) {
                    inputs.put(name, Files.readAllBytes(file));
                }
            }
        }
        Files.createDirectories(archives);
        try (ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(archives.resolve(archive())))) {
            for (Map.Entry<String, byte[]> input : inputs.entrySet()) {
                ZipEntry entry = new ZipEntry(input.getKey());
                entry.setTime(0);
                out.putNextEntry(entry);
                out.write(input.getValue());
                out.closeEntry();
            }
        }
    }
}
