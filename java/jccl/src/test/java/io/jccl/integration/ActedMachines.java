package io.jccl.integration;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Machines acted by network namespaces: {@code scripts/acted-machines --serve}, spoken to. They are gone when this is
 * closed, and when this process ends in any way.
 */
final class ActedMachines implements AutoCloseable {

    private static final String ROOT_USER = "root";
    private static final int RENDEZVOUS_PORT = 29_511;

    private final Process rig;
    private final BufferedReader says;
    private final BufferedWriter orders;
    private final List<String> holders = new ArrayList<>();

    private ActedMachines(Process rig) {
        this.rig = rig;
        this.says = new BufferedReader(new InputStreamReader(rig.getInputStream(), UTF_8));
        this.orders = new BufferedWriter(new OutputStreamWriter(rig.getOutputStream(), UTF_8));
    }

    /** Why there can be none here; empty if there can. */
    static Optional<String> hindrance() {
        if (!ROOT_USER.equals(System.getProperty("user.name"))) {
            return Optional.of("network namespaces need root");
        }
        if (script().isEmpty()) {
            return Optional.of("scripts/acted-machines is not there");
        }
        try (ActedMachines two = start("--machines", "2", "--loss", "1", "--rate", "1000")) {
            return two.holders.size() == 2
                    ? Optional.empty()
                    : Optional.of("scripts/acted-machines does not work here");
        } catch (UncheckedIOException e) {
            return Optional.of(e.getCause().getMessage());
        }
    }

    /** Makes machines; the options are those of the script. */
    static ActedMachines start(String... options) {
        List<String> command = new ArrayList<>(List.of(script().orElseThrow().toString(), "--serve"));
        command.addAll(List.of(options));
        ActedMachines machines = null;
        try {
            machines = new ActedMachines(
                    new ProcessBuilder(command).redirectErrorStream(true).start());
            machines.readHolders();
            return machines;
        } catch (IOException e) {
            if (machines != null) {
                machines.close();
            }
            throw new UncheckedIOException(e);
        }
    }

    private static Optional<Path> script() {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            Path script = at.resolve("scripts/acted-machines");
            if (Files.isExecutable(script)) {
                return Optional.of(script);
            }
        }
        return Optional.empty();
    }

    private void readHolders() throws IOException {
        for (String line = answer(); !line.equals("ready"); line = answer()) {
            if (!line.startsWith("machine ")) {
                throw new IOException(line);
            }
            holders.add(line.substring(line.lastIndexOf(' ') + 1));
        }
    }

    private String answer() throws IOException {
        String line = says.readLine();
        if (line == null) {
            throw new IOException("scripts/acted-machines ended");
        }
        return line;
    }

    /** A command line in front of a rank's that runs it on a machine, in a launcher's environment. */
    List<String> inside(int machine, int rank, int size, String... environment) {
        List<String> command = entering(machine);
        command.add("env");
        command.add("JCCL_HOST_ID=machine" + machine);
        command.add("JCCL_RANK=" + rank);
        command.add("JCCL_SIZE=" + size);
        command.add("JCCL_LOCAL_RANK=0");
        command.addAll(List.of(environment));
        return command;
    }

    /** The setting by which ranks meet on machine 0, at its address on the first wire. */
    static String meetingAt(String address) {
        return "JCCL_RENDEZVOUS=" + address + ":" + RENDEZVOUS_PORT + "/0123456789abcdef0123456789abcdef";
    }

    /** How many bytes an interface of a machine has sent. */
    long sentBytes(int machine, String interfaceName) throws IOException {
        return Long.parseLong(run(machine, "cat", "/sys/class/net/" + interfaceName + "/statistics/tx_bytes")
                .trim());
    }

    /** Runs a short command on a machine; returns what it printed. */
    String run(int machine, String... command) throws IOException {
        List<String> entered = entering(machine);
        entered.addAll(List.of(command));
        Process process = new ProcessBuilder(entered).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), UTF_8);
        int status = process.onExit().join().exitValue();
        if (status != 0) {
            throw new IOException(String.join(" ", command) + ": status=" + status + ": " + output);
        }
        return output;
    }

    private List<String> entering(int machine) {
        return new ArrayList<>(List.of("nsenter", "--target", holders.get(machine), "--net", "--mount", "--"));
    }

    /** Pulls all cables of a machine. */
    void pullCables(int machine) {
        order("down " + machine);
    }

    /** Puts them back. */
    void putCablesBack(int machine) {
        order("up " + machine);
    }

    /** Lets a machine send but hear nothing. */
    void deafen(int machine) {
        order("deaf " + machine);
    }

    private void order(String what) {
        try {
            orders.write(what + "\n");
            orders.flush();
            String line = answer();
            if (!line.equals("done")) {
                throw new IOException(what + ": " + line);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            orders.close(); // it ends with its input
        } catch (IOException e) {
            rig.destroy();
        }
        try {
            if (!rig.waitFor(10, TimeUnit.SECONDS)) {
                rig.destroyForcibly();
            }
        } catch (InterruptedException e) {
            rig.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
