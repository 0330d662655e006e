package headwater;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.Partition;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskContextImpl;
import org.apache.spark.executor.TaskMetrics;
import org.apache.spark.memory.MemoryManager;
import org.apache.spark.memory.TaskMemoryManager;
import org.apache.spark.metrics.MetricsSystem;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartition$;
import org.apache.spark.sql.execution.CoalesceExec;
import org.apache.spark.sql.execution.CollectMetricsExec;
import org.apache.spark.sql.execution.CollectMetricsExec$;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.LocalTableScanExec;
import org.apache.spark.sql.execution.RDDScanExec;
import org.apache.spark.sql.execution.SortExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.exchange.ShuffleExchangeExec;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampType$;
import org.apache.spark.util.AccumulatorContext;
import org.apache.spark.util.AccumulatorV2;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.$colon$colon;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Nil$;
import scala.math.BigDecimal$;
import scala.reflect.ClassTag$;

/** Exchanges given rows, by the name of their first column, and instants in a plan: for other instants, or for places. */
public class Exchange extends scala.runtime.AbstractPartialFunction {
    private static final StructType PLACE = new StructType().add("at", TimestampType$.MODULE$, false);

    private final Map by;

    public Exchange(Map by) { this.by = by; }

    public boolean isDefinedAt(Object node) { return given(node) != null; }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
        Object given = given(node);
        if (given == null) return otherwise.apply(node);
        if (given instanceof RDD) {
            return new RDDScanExec(((SparkPlan) node).output(), (RDD) given, "given", SinglePartition$.MODULE$,
                Nil$.MODULE$, Option.empty());
        }
        if (given instanceof InternalRow) return new GetStructField(new Literal(given, PLACE), 0, Option.empty());
        return new Literal(given, ((Literal) node).dataType());
    }

    private Object given(Object node) {
        if (node instanceof LocalTableScanExec) {
            return by.get(((Attribute) ((LocalTableScanExec) node).output().head()).name());
        }
        if (node instanceof Literal && ((Literal) node).dataType() == TimestampType$.MODULE$) {
            Object value = ((Literal) node).value();
            return value == null ? null : by.get(value);
        }
        return null;
    }
}

/**
 * Leaves rows where they are that would be moved into one partition: that is what a task computes. And lets a sort read
 * its rows as soon as it is there: compiled, it reads them when it is asked for the first one, and a join asks for no row
 * of one side where the other has none. They would not be counted.
 */
class Gathering extends scala.runtime.AbstractPartialFunction {
    public boolean isDefinedAt(Object node) { return isMove(node) || isSort(node); }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
        if (isMove(node)) return new CoalesceExec(1, (SparkPlan) ((ShuffleExchangeExec) node).child());
        return isSort(node) ? interpreted((WholeStageCodegenExec) node) : otherwise.apply(node);
    }

    private static boolean isMove(Object node) {
        return node instanceof ShuffleExchangeExec && ((ShuffleExchangeExec) node).outputPartitioning().numPartitions() == 1;
    }

    private static boolean isSort(Object node) {
        return node instanceof WholeStageCodegenExec && ((WholeStageCodegenExec) node).child() instanceof SortExec;
    }

    /** A sort that is interpreted, of rows that are computed by compiled code still. */
    private static Object interpreted(WholeStageCodegenExec stage) {
        SortExec sort = (SortExec) stage.child();
        if (sort.child() instanceof InputAdapter) return sort;
        SparkPlan below = new WholeStageCodegenExec((SparkPlan) sort.child(), stage.codegenStageId());
        return sort.withNewChildren(new $colon$colon(below, Nil$.MODULE$));
    }
}

/** One partition of the rows of an Arrow batch, which is another for each execution. */
class Given extends RDD {
    private final StructType kinds;
    byte[] batch;

    Given(SparkContext context, StructType kinds) {
        super(context, Nil$.MODULE$, ClassTag$.MODULE$.apply(InternalRow.class));
        this.kinds = kinds;
    }

    public Partition[] getPartitions() { return new Partition[] {new Whole()}; }

    public Iterator compute(Partition part, TaskContext context) {
        Iterator batches = scala.collection.Iterator$.MODULE$.single(batch);
        return ArrowConverters$.MODULE$.fromBatchIterator(batches, kinds, "UTC", true, false, context);
    }
}

class Whole implements Partition {
    public int index() { return 0; }

    public boolean org$apache$spark$Partition$$super$equals(Object other) { return super.equals(other); }
}

/** The place of an instant. It equals no other: Spark computes what is equal once, and both are empty while it looks. */
class Place extends GenericInternalRow {
    Place() { super(new Object[1]); }

    public boolean equals(Object other) { return this == other; }

    public int hashCode() { return System.identityHashCode(this); }
}

/** A plan that is computed where it is called, over rows and at instants that it is given. */
public class KeptPlan {
    private static final AtomicLong TASKS = new AtomicLong(1L << 62); // Spark counts its own from 0

    private final SparkPlan plan;
    private final RDD rows;
    private final List given = new ArrayList();
    private final List instants = new ArrayList();
    private final List counts = new ArrayList();
    private final Properties settings;
    private final MemoryManager memory;
    private final MetricsSystem metrics;

    public KeptPlan(
        SparkSession session, SparkPlan plan, List names, List kinds, List marks, Properties settings) throws Throwable {
        this.settings = settings;
        this.memory = (MemoryManager) part("memoryManager", MemoryManager.class);
        this.metrics = (MetricsSystem) part("metricsSystem", MetricsSystem.class);
        Map by = new HashMap();
        for (int number = 0; number < names.size(); number++) {
            given.add(new Given(session.sparkContext(), (StructType) kinds.get(number)));
            by.put(names.get(number), given.get(number));
        }
        for (int number = 0; number < marks.size(); number++) {
            instants.add(new Place());
            by.put(marks.get(number), instants.get(number));
        }
        Option before = activated(session);
        try {
            Exchange exchange = new Exchange(by);
            this.plan = (SparkPlan) ((SparkPlan) plan.transform(exchange)).transformAllExpressions(exchange);
            this.rows = this.plan.execute();
            count(this.plan);
        } finally {
            activated(before.isDefined() ? (SparkSession) before.get() : null);
        }
    }

    /** A part of Spark's environment, of which the compiler would ask for classes that are nowhere. */
    private static Object part(String name, Class kind) throws Throwable {
        Class env = Class.forName("org.apache.spark.SparkEnv");
        MethodHandles.Lookup lookup = MethodHandles.publicLookup();
        Object current = lookup.findStatic(env, "get", MethodType.methodType(env)).invokeWithArguments(new Object[0]);
        return lookup.findVirtual(env, name, MethodType.methodType(kind)).invokeWithArguments(new Object[] {current});
    }

    private void count(SparkPlan node) {
        if (node instanceof CollectMetricsExec) counts.add(((CollectMetricsExec) node).accumulatorId());
        Iterator children = node.children().iterator();
        while (children.hasNext()) count((SparkPlan) children.next());
    }

    /** A plan whose rows are all in one partition, as far as they can be. */
    public static SparkPlan gathered(SparkSession session, SparkPlan plan) {
        Option before = activated(session);
        try {
            return (SparkPlan) plan.transform(new Gathering());
        } finally {
            activated(before.isDefined() ? (SparkSession) before.get() : null);
        }
    }

    /** Let a session be that of the nodes that this thread makes; returns which it was. */
    private static Option activated(SparkSession session) {
        Option before = SparkSession.getActiveSession();
        if (session == null) SparkSession.clearActiveSession();
        else SparkSession.setActiveSession(session);
        return before;
    }

    /** The bytes of memory that tasks have taken. */
    public long memoryUsed() { return memory.executionMemoryUsed(); }

    /**
     * Given: an instant for each mark, and an Arrow batch for each input. Returns counts, and Arrow batches, in base64: bytes
     * are decoded by Python one by one.
     */
    public synchronized String run(byte[] told) throws Throwable {
        long task = TASKS.getAndIncrement();
        TaskMemoryManager own = new TaskMemoryManager(memory, task);
        TaskContextImpl context = new TaskContextImpl(
            0, 0, 0, task, 0, 1, own, settings, metrics, TaskMetrics.empty(),
            BigDecimal$.MODULE$.apply(1), (scala.collection.immutable.Map) Map$.MODULE$.empty());
        try {
            take(new DataInputStream(new ByteArrayInputStream(told)));
            ByteArrayOutputStream batches = new ByteArrayOutputStream();
            TaskContext.withTaskContext(context, new Task(rows, plan.schema(), context, batches));
            ByteArrayOutputStream computed = new ByteArrayOutputStream();
            tell(new DataOutputStream(computed));
            batches.writeTo(computed);
            return Base64.getEncoder().encodeToString(computed.toByteArray());
        } finally {
            for (int number = 0; number < given.size(); number++) ((Given) given.get(number)).batch = null;
            own.cleanUpAllAllocatedMemory();
            memory.releaseAllExecutionMemoryForTask(task);
        }
    }

    private void take(DataInputStream told) throws Exception {
        for (int number = 0; number < instants.size(); number++) {
            ((Place) instants.get(number)).update(0, told.readLong());
        }
        for (int number = 0; number < given.size(); number++) {
            byte[] batch = new byte[told.readInt()];
            told.readFully(batch);
            ((Given) given.get(number)).batch = batch;
        }
        for (int number = 0; number < counts.size(); number++) {
            ((AccumulatorV2) AccumulatorContext.get((Long) counts.get(number)).get()).reset();
        }
    }

    private void tell(DataOutputStream computed) throws Exception {
        scala.collection.immutable.Map counted = CollectMetricsExec$.MODULE$.collect(plan);
        computed.writeInt(counted.size());
        Iterator entries = counted.iterator();
        while (entries.hasNext()) {
            scala.Tuple2 entry = (scala.Tuple2) entries.next();
            Row numbers = (Row) entry._2();
            computed.writeUTF((String) entry._1());
            computed.writeInt(numbers.size());
            for (int place = 0; place < numbers.size(); place++) {
                computed.writeLong(numbers.isNullAt(place) ? 0L : numbers.getLong(place));
            }
        }
    }
}

/** The one task of a plan: its partitions, one after the other, as Arrow batches. */
class Task extends scala.runtime.AbstractFunction0 {
    private final RDD rows;
    private final StructType kinds;
    private final TaskContextImpl context;
    private final ByteArrayOutputStream batches;

    Task(RDD rows, StructType kinds, TaskContextImpl context, ByteArrayOutputStream batches) {
        this.rows = rows;
        this.kinds = kinds;
        this.context = context;
        this.batches = batches;
    }

    public Object apply() {
        try {
            write();
            context.markTaskCompleted(Option.empty());
        } catch (Throwable failure) {
            context.markTaskFailed(failure);
            context.markTaskCompleted(Option.apply(failure));
            throw failure;
        }
        return null;
    }

    private void write() {
        for (int number = 0; number < rows.partitions().length; number++) {
            Iterator part = ArrowConverters$.MODULE$.toBatchIterator(
                rows.iterator(rows.partitions()[number], context), kinds, 0L, "UTC", true, false, context);
            while (part.hasNext()) {
                byte[] batch = (byte[]) part.next();
                batches.write(batch, 0, batch.length);
            }
        }
    }
}
